import type { Db } from '../platform/db/db.ts'
import {
  evaluateLimit,
  type HoldRequest,
  LedgerState,
  type Limit,
  type LimitStatus,
  type Rejection,
} from './ledger-state.ts'
import { countFreeInMinute, newMeter } from './meter.ts'
import { loadMetersForDay } from './meter-days.ts'

/** The decision that the ledger would make on a hold request. */
export interface AdmissionPreview {
  rejection: Rejection | null
  limits: (LimitStatus & { limit: Limit })[]
  /** Requests to free variants so far, when the request is for one. */
  free: { minute: number; day: number } | null
}

/** Applies the rules of the ledger to the meters as they are, without holding or writing anything. */
export async function previewAdmission(db: Db, request: HoldRequest): Promise<AdmissionPreview> {
  const state = await loadState(db, request)
  const limits = request.limits.map((limit) => ({
    limit,
    ...evaluateLimit(limit, getMeter(state, limit.subject), request),
  }))
  const free = request.free && readFreeUsage(state, request.free)
  return { limits, free, rejection: state.admit(request) }
}

async function loadState(db: Db, { subjects, day }: HoldRequest): Promise<LedgerState> {
  const state = new LedgerState()
  for (const meter of await loadMetersForDay(db, subjects, day)) state.meters.set(meter.subject, meter)
  return state
}

function getMeter({ meters }: LedgerState, subject: string) {
  return meters.get(subject) ?? newMeter(subject)
}

function readFreeUsage(state: LedgerState, { subject, minute }: NonNullable<HoldRequest['free']>) {
  const meter = getMeter(state, subject)
  return { minute: countFreeInMinute(meter, minute), day: meter.freeDay }
}
