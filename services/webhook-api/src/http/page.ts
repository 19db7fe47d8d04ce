/** Paging by number and its `Link` header (https://docs.github.com/rest/using-the-rest-api/using-pagination-in-the-rest-api). */
import { z } from 'zod';

const perPageDefault = 30;
const perPageMax = 100;
const pageMax = 1_000_000;

/** Numbers out of range are clamped, and anything else is ignored, as on GitHub. */
const clamped = (fallback: number, max: number) =>
  z
    .string()
    .optional()
    .transform((text) =>
      text !== undefined && /^-?\d{1,9}$/.test(text) ? Math.min(Math.max(Number(text), 1), max) : fallback,
    );

export const perPage = clamped(perPageDefault, perPageMax).meta({
  type: 'integer',
  minimum: 1,
  maximum: perPageMax,
  default: perPageDefault,
  description: 'Results per page',
});

export const pageQuery = z.object({
  per_page: perPage,
  page: clamped(1, pageMax).meta({ type: 'integer', minimum: 1, default: 1, description: 'Page number' }),
});

export type PageQuery = z.infer<typeof pageQuery>;

export const offsetOf = ({ page, per_page }: PageQuery): number => (page - 1) * per_page;

/** The `Link` header of one page of `total` items; nothing if one page holds them all. `filters` are kept. */
export function pageLinks(
  url: string,
  query: PageQuery,
  total: number,
  filters: Record<string, string | undefined> = {},
): Record<string, string> {
  const last = Math.max(Math.ceil(total / query.per_page), 1);
  const links: [rel: string, page: number][] = [];
  if (query.page > 1) links.push(['prev', Math.min(query.page - 1, last)]);
  if (query.page < last) links.push(['next', query.page + 1], ['last', last]);
  if (query.page > 1) links.push(['first', 1]);
  return linkHeader(
    links.map(([rel, page]) => [rel, `${url}?per_page=${query.per_page}${filterText(filters)}&page=${page}`]),
  );
}

/** As the continuation of a query. */
export const filterText = (filters: Record<string, string | undefined>): string =>
  Object.entries(filters)
    .map(([name, value]) => (value === undefined ? '' : `&${name}=${encodeURIComponent(value)}`))
    .join('');

/** PyGithub splits on exactly `, ` and `; `. */
export function linkHeader(links: [rel: string, url: string][]): Record<string, string> {
  if (links.length === 0) return {};
  return { Link: links.map(([rel, url]) => `<${url}>; rel="${rel}"`).join(', ') };
}
