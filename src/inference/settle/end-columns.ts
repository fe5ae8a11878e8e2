import type { ReplySummary } from '../../formats/wire-format.ts'

const maxNativeReasonLength = 100

export function toFinishColumns(finish: ReplySummary['finishReasons'][number] | null | undefined) {
  return {
    finish_reason: finish?.reason ?? null,
    // PostgreSQL has no text with a NUL.
    native_finish_reason: finish?.native?.slice(0, maxNativeReasonLength).replaceAll('\0', '') ?? null,
  }
}

export function encodeDropped(dropped: string[]): string | null {
  return dropped.length === 0 ? null : JSON.stringify(dropped)
}
