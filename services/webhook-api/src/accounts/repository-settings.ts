/**
 * A repository's description of itself, in GitHub's fields (https://docs.github.com/rest/repos/repos#update-a-repository): stored and returned
 * as given. We hold no code, so it has no effect, except that `public_repo` opens public repositories; even those are visible to members only.
 */
import { z } from 'zod';

const visibilities = z.enum(['public', 'private', 'internal']);
export type Visibility = z.infer<typeof visibilities>;

const text = (max: number) =>
  z
    .string()
    .max(max, `is too long (maximum is ${max} characters)`)
    .regex(/^\P{Cc}*$/u, 'must not contain control characters')
    .nullable();

const topic = z.string().regex(/^[a-z0-9][a-z0-9-]{0,49}$/, 'must be lower-case letters, digits and `-`, at most 50');
export const topicsSchema = z.array(topic).max(20, 'must not be more than 20');

export const settingsSchema = z
  .object({
    description: text(350),
    homepage: text(255),
    topics: topicsSchema,
    default_branch: z.string().regex(/^[^\p{Cc}\s~^:?*[\\]{1,255}$/u, 'is not the name of a branch'),
    has_issues: z.boolean(),
    has_projects: z.boolean(),
    has_wiki: z.boolean(),
    has_downloads: z.boolean(),
    has_discussions: z.boolean(),
    is_template: z.boolean(),
    archived: z.boolean(),
    allow_merge_commit: z.boolean(),
    allow_squash_merge: z.boolean(),
    allow_rebase_merge: z.boolean(),
    allow_auto_merge: z.boolean(),
    allow_update_branch: z.boolean(),
    allow_forking: z.boolean(),
    delete_branch_on_merge: z.boolean(),
    web_commit_signoff_required: z.boolean(),
    squash_merge_commit_title: z.enum(['PR_TITLE', 'COMMIT_OR_PR_TITLE']),
    squash_merge_commit_message: z.enum(['PR_BODY', 'COMMIT_MESSAGES', 'BLANK']),
    merge_commit_title: z.enum(['PR_TITLE', 'MERGE_MESSAGE']),
    merge_commit_message: z.enum(['PR_BODY', 'PR_TITLE', 'BLANK']),
  })
  .partial();

export type RepositorySettings = z.infer<typeof settingsSchema>;

/** The same, as clients send it. */
export const settingsInput = settingsSchema.omit({ topics: true }).extend({
  visibility: visibilities.optional(),
  private: z.boolean().optional().meta({ description: 'Used if `visibility` is not given' }),
});

/** The part of `input` that is stored; null: it does not say who may see the repository. */
export function readSettings({ visibility, private: isPrivate, ...input }: z.infer<typeof settingsInput>): {
  visibility: Visibility | null;
  settings: RepositorySettings;
} {
  const asked = isPrivate === undefined ? null : isPrivate ? 'private' : 'public';
  return { visibility: visibility ?? asked, settings: settingsSchema.parse(input) };
}
