import { toModelRule } from '../../catalog/model-rule.ts'
import type { Candidate } from '../../inference/routing/candidate.ts'
import type { Limit } from '../../ledger/ledger-state.ts'
import { meterSubjects } from '../../ledger/meter-subjects.ts'
import type { KeyLimits, LimitedFacts, LimitedKey } from './limit-index.ts'
import {
  coversCandidate,
  dependsOnCandidate,
  type LimitDimension,
  type LimitRule,
  ledgerWindowOf,
} from './limit-rule.ts'

/** A limit that counts a request. */
export interface AppliedLimit {
  rule: LimitRule
  /** The values of `per`, such as `end_user=alice`; empty if all requests are counted together. */
  counter: string
  /** Whether it counts the request if this candidate serves it; null if it does for any candidate. */
  counts: ((candidate: Candidate) => boolean) | null
  /** Whether it does not count the request for some of the candidates. */
  isPartial: boolean
}

/** The limits that count a request which is sent to one of these candidates. */
export function applyLimits(
  { always, selective }: KeyLimits,
  key: LimitedKey,
  facts: LimitedFacts,
  candidates: readonly Candidate[],
): AppliedLimit[] {
  const applied: AppliedLimit[] = []
  const add = (rule: LimitRule) => {
    if (dependsOnCandidate(rule)) applied.push(...applyToCandidates(rule, key, facts, candidates))
    else
      applied.push({ rule, counter: encodeCounter(rule, key, facts, null), counts: null, isPartial: false })
  }
  for (const rule of always) add(rule)
  for (const selector of selective) for (const rule of selector.select(facts)) add(rule)
  return applied
}

function applyToCandidates(
  rule: LimitRule,
  key: LimitedKey,
  facts: LimitedFacts,
  candidates: readonly Candidate[],
): AppliedLimit[] {
  const encode = (candidate: Candidate) => encodeCounter(rule, key, facts, candidate)
  const covered = candidates.filter((candidate) => coversCandidate(rule, candidate))
  return [...Map.groupBy(covered, encode)].map(([counter, group]) => ({
    rule,
    counter,
    counts: (candidate) => coversCandidate(rule, candidate) && encode(candidate) === counter,
    isPartial: group.length < candidates.length,
  }))
}

/** A longer value is counted by its beginning: clients choose it. */
const maxValueLength = 256

function encodeCounter(
  { per }: LimitRule,
  key: LimitedKey,
  facts: LimitedFacts,
  candidate: Candidate | null,
): string {
  if (per.length === 0) return ''
  return per
    .map((dimension) => {
      const value = readDimension(dimension, key, facts, candidate).slice(0, maxValueLength)
      return `${encodeURIComponent(dimension)}=${encodeURIComponent(value.toWellFormed())}`
    })
    .join('&')
}

/** Empty for a request without a value: all of these are counted together. */
function readDimension(
  dimension: LimitDimension,
  key: LimitedKey,
  { endUser, tags }: LimitedFacts,
  candidate: Candidate | null,
): string {
  switch (dimension) {
    case 'key':
      return String(key.id)
    case 'workspace':
      return key.workspace_id
    case 'member':
      return key.creator_user_id ?? ''
    case 'end_user':
      return endUser ?? ''
    case 'model':
      return candidate ? toModelRule(candidate.model) : ''
    case 'provider':
      return candidate?.endpoint.provider.slug ?? ''
    default: {
      const prefix = `${dimension.slice('tag:'.length)}=`
      return tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length) ?? ''
    }
  }
}

export function decodeCounter(counter: string): Record<string, string> {
  if (counter === '') return {}
  return Object.fromEntries(
    counter.split('&').map((part) => {
      const separator = part.indexOf('=')
      return [decodeURIComponent(part.slice(0, separator)), decodeURIComponent(part.slice(separator + 1))]
    }),
  )
}

/** The limit of the ledger; null if it is enforced in windows of requests and tokens. */
export function toLedgerLimit({ rule, counter }: Pick<AppliedLimit, 'rule' | 'counter'>): Limit | null {
  const window = ledgerWindowOf(rule)
  if (!window) return null
  const { id, name, includeByok, amount } = rule
  return { kind: 'limit', subject: meterSubjects.limit(id, counter), window, includeByok, amount, name }
}
