/** A 2 KB payload whose first member says when it was sent (ms since 1970), by which the receiver measures. */
export function payload(sentAt: number): Buffer {
  return Buffer.from(`{"sent_at":${sentAt.toFixed(3).padEnd(18, '0')},${filler}}`);
}

const filler = `"ref":"refs/heads/main","before":"${'0'.repeat(40)}","padding":"${'x'.repeat(1_900)}"`;
