import { z } from 'zod'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { utcDay } from '../../../platform/time/time.ts'

const dayMs = 86_400_000
const defaultDays = 30
/** Earliest day: no data is older. */
const firstDay = '2025-01-01'

export const periodQuery = {
  start_date: z.iso
    .date()
    .optional()
    .describe(
      `The first UTC day; 29 days before \`end_date\` by default. An earlier day than ${firstDay} is read as ${firstDay}.`,
    ),
  end_date: z.iso
    .date()
    .optional()
    .describe('The last UTC day; the last complete one by default, and at most.'),
}

export interface Period {
  from: string
  to: string
}

/** Complete days only. */
export function resolvePeriod(
  now: number,
  { start_date, end_date }: { start_date?: string | undefined; end_date?: string | undefined },
): Period {
  const lastDay = utcDay(now - dayMs)
  if (end_date !== undefined && end_date < firstDay)
    throw invalidFieldError('end_date', `must not be before ${firstDay}`)
  const to = end_date === undefined || end_date > lastDay ? lastDay : end_date
  const start = start_date ?? shiftDay(to, 1 - defaultDays)
  const from = start < firstDay ? firstDay : start
  if (from > to) throw invalidFieldError('start_date', `must not be after the last day, ${to}`)
  return { from, to }
}

export function shiftDay(day: string, days: number): string {
  return utcDay(Date.parse(day) + days * dayMs)
}

export function countDays({ from, to }: Period): number {
  return (Date.parse(to) - Date.parse(from)) / dayMs + 1
}
