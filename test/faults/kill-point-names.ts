/** Points where a process can be killed, in the order a request passes them. */
const postgresPoints = [
  'before a hold is written',
  'halfway through a line of the journal',
  'before a hold is committed',
  'after a hold is committed',
  'after the first token',
  'after a checkpoint',
  'after the end of the reply',
  'before a settlement is written',
  'before a settlement is on disk',
  'after a settlement is on disk',
  'halfway through a settlement',
  'before a settlement is committed',
  'after a settlement is committed',
  'while the client receives the end',
  'before a file of the journal is used again',
] as const

/** Points of an installation whose journal is flushed to its database file. */
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
  'while the client receives the end',
  'before the journal is flushed',
  'halfway through a flush',
  'before a flush is committed',
  'after a flush is committed',
  'before a file of the journal is used again',
] as const

export const killPoints = { postgres: postgresPoints, sqlite: sqlitePoints }

/** Points during the recovery of what a killed process left. */
export const replayPoints = [
  'before the journal is flushed',
  'halfway through a flush',
  'before a flush is committed',
  'after a flush is committed',
  'after a settlement is committed',
] as const

/** Points of a video job, in the order it passes them. */
export const videoPoints = [
  'after a video job is stored',
  'after a video job is marked as being sent',
  'after a provider accepted a video job',
  'after a video job is marked as sent',
  'after a video job is polled',
  'after a video is downloaded',
  'after a webhook is delivered',
] as const

export type KillPoint =
  | (typeof videoPoints)[number]
  | (typeof postgresPoints)[number]
  | (typeof sqlitePoints)[number]
