/** Where a process can be made to die, in the order a request passes them. */
export const killPoints = [
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

export type KillPoint = (typeof killPoints)[number]
