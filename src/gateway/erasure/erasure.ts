/** How many records of each kind were deleted or changed. */
export const erasedKinds = [
  'requests',
  'contents',
  'feedback',
  'stored_responses',
  'conversations',
  'videos',
  'similar_replies',
  'undelivered_events',
  'refused_requests',
  'limit_counters',
] as const

export type ErasedCounts = Record<(typeof erasedKinds)[number], number>

export function parseCounts(text: string): ErasedCounts {
  const stored = JSON.parse(text) as Partial<ErasedCounts>
  return Object.fromEntries(erasedKinds.map((kind) => [kind, stored[kind] ?? 0])) as ErasedCounts
}

export function addCounts(a: ErasedCounts, b: Partial<ErasedCounts>): ErasedCounts {
  return Object.fromEntries(erasedKinds.map((kind) => [kind, a[kind] + (b[kind] ?? 0)])) as ErasedCounts
}

/** The steps of a pass, in order: what is rolled up while the analytics are renamed has the new name already. */
export const erasureSteps = ['records', 'refused', 'analytics', 'limits'] as const

/** Where an erasure continues. */
export interface ErasureProgress {
  /** Passes that are done. */
  passes: number
  step: (typeof erasureSteps)[number]
  /** The last record, day or limit that was examined; null at the beginning of a step. */
  after: string[] | null
  /** Objects in the bucket that no content is read from any more. */
  packs: string[]
}

export const firstProgress: ErasureProgress = { passes: 0, step: 'records', after: null, packs: [] }

/** What is not deleted, and why. */
export const notReached = [
  { kind: 'delivered_events', note: 'What destinations and webhooks have received is deleted there.' },
  { kind: 'provider_logs', note: 'What providers keep of requests is deleted by them, as agreed with them.' },
  { kind: 'backups', note: 'Archives of `headgate backup` and of the database have the state of their day.' },
  { kind: 'audit_log', note: 'Entries about blocking the end user have the name, until the log expires.' },
  { kind: 'uploaded_files', note: 'Files and containers belong to a workspace, not to an end user.' },
  { kind: 'idempotency_keys', note: 'Replies kept for repeated requests are deleted after a day.' },
  {
    kind: 'unlinked_conversations',
    note: 'Conversations without a stored response of the end user cannot be attributed.',
  },
  { kind: 'configuration', note: 'A block, and limits and API keys that name the end user, are settings.' },
  { kind: 'labels', note: 'Tags and apps that name the person are labels of the application.' },
  {
    kind: 'limits_in_use',
    note: 'Dollar limits for each end user that counted this month are deleted after it.',
  },
] as const
