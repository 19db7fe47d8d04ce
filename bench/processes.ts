/** The costs of processes, read from /proc: CPU seconds and memory. */
import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100; // USER_HZ, the same on every Linux that Node runs on

/** CPU seconds (user and system) that the process has used so far. */
export function cpuSeconds(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/**
 * CPU seconds so far of all processes of this name on this machine, including ended children: accurate only if nobody else runs such a server
 * here. `title` limits them to processes whose title contains it, such as PostgreSQL's for one database.
 */
export function cpuSecondsOf(name: string, title = ''): number {
  let seconds = 0;
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      if (readFileSync(`/proc/${entry}/comm`, 'utf8').trim() !== name) continue;
      if (!readFileSync(`/proc/${entry}/cmdline`, 'utf8').includes(title)) continue;
      const fields = statOf(Number(entry));
      seconds += (Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
    } catch {
      // It ended meanwhile.
    }
  }
  return seconds;
}

/** Peak and current resident memory in MB. */
export function memoryOf(pid: number): { peakMb: number; nowMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return { peakMb: Math.round(kilobytes('VmHWM') / 1024), nowMb: Math.round(kilobytes('VmRSS') / 1024) };
}

// Fields from the third on: the second, the name in brackets, may contain spaces.
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
