import { rootCauseMessage } from '../../platform/root-cause.ts'

/** What is checked, in this order. */
export const checkNames = [
  'configuration',
  'database',
  'services',
  'clock',
  'disk',
  'providers',
  'certificates',
  'ledger',
  'audit log',
] as const

export type CheckName = (typeof checkNames)[number]

export interface CheckResult {
  check: CheckName
  /** Only `failed` is an exit code of 1. */
  status: 'ok' | 'warning' | 'failed' | 'skipped'
  message: string
  /** What to do about it; null if nothing has to be done. */
  remedy: string | null
}

export function passed(check: CheckName, message: string): CheckResult {
  return { check, status: 'ok', message, remedy: null }
}

export function warned(check: CheckName, message: string, remedy: string): CheckResult {
  return { check, status: 'warning', message, remedy }
}

export function failed(check: CheckName, message: string, remedy: string): CheckResult {
  return { check, status: 'failed', message, remedy }
}

export function skipped(check: CheckName, message: string): CheckResult {
  return { check, status: 'skipped', message, remedy: null }
}

/** The results of a check, or its error as one: the checks after it run in either case. */
export async function withErrors(
  check: CheckName,
  work: () => Promise<CheckResult[]> | CheckResult[],
): Promise<CheckResult[]> {
  try {
    return await work()
  } catch (error) {
    const reason = rootCauseMessage(error).replaceAll('\n', ' ')
    return [
      failed(check, `The check could not be completed: ${reason}.`, 'Remove the cause and run it again.'),
    ]
  }
}
