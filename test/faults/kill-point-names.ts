/** Where a process can be made to die, in the order a request passes them. */
const postgresPoints = [
  'before a hold is written',
  'before a hold is committed',
  'after a hold is committed',
  'after the first token',
  'after a checkpoint',
  'after the end of the reply',
  'before a settlement is written',
  'halfway through a settlement',
  'before a settlement is committed',
  'after a settlement is committed',
  'while a client is told the end',
] as const

/** Where the ledger is a journal, and the database follows it. */
const sqlitePoints = [
  'before a hold is written',
  'halfway through a line of the journal',
  'after a hold is committed',
  'after the first token',
  'after a checkpoint',
  'after the end of the reply',
  'before a settlement is written',
  'before a settlement is on disk',
  'after a settlement is on disk',
  'after a settlement is committed',
  'while a client is told the end',
  'before the journal is folded',
  'halfway through a fold',
  'before a fold is committed',
  'after a fold is committed',
  'before a file of the journal is used again',
] as const

export const killPoints = { postgres: postgresPoints, sqlite: sqlitePoints }

/** Where a start can die that takes up what another process left. */
export const replayPoints = [
  'before the journal is folded',
  'halfway through a fold',
  'before a fold is committed',
  'after a fold is committed',
  'after a settlement is committed',
] as const

export type KillPoint = (typeof postgresPoints)[number] | (typeof sqlitePoints)[number]
