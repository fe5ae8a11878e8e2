import type { paths } from '../../api/schema.ts'

export type Interval =
  paths['/workspaces/{workspace_ref}/budgets/{interval}']['put']['parameters']['path']['interval']

export const intervals: { value: Interval; label: string; unit: string }[] = [
  { value: 'daily', label: 'Daily', unit: 'today' },
  { value: 'weekly', label: 'Weekly', unit: 'this week' },
  { value: 'monthly', label: 'Monthly', unit: 'this month' },
  { value: 'lifetime', label: 'Lifetime', unit: 'in total' },
]

/** When the running window of a budget began. Days, weeks (from Monday) and months are those of UTC. */
export function startOfWindow(interval: Interval, now: Date, created: string): string {
  if (interval === 'lifetime') return created
  const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()))
  if (interval === 'weekly') start.setUTCDate(start.getUTCDate() - ((start.getUTCDay() + 6) % 7))
  if (interval === 'monthly') start.setUTCDate(1)
  return start.toISOString()
}
