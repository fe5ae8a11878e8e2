import { z } from 'zod'
import { parseRow } from '../rows.ts'
import type { Tables } from '../source.ts'

/** A dump may have numbers as text, and flags as numbers. */
const count = z.coerce.number().catch(0)
const text = z.coerce.string().nullish().catch(null)
const flag = z
  .union([z.boolean(), z.coerce.number().transform((value) => value !== 0)])
  .nullish()
  .catch(null)
const id = z.coerce.number()

const channelRow = z.object({
  id,
  type: count,
  key: z.string(),
  status: count,
  name: text,
  weight: count.nullish(),
  base_url: text,
  models: text,
  group: text,
  model_mapping: text,
  priority: count.nullish(),
})

const tokenRow = z.object({
  id,
  user_id: id,
  key: z.string().min(1),
  status: count,
  name: text,
  expired_time: z.coerce.number().catch(-1),
  remain_quota: count,
  unlimited_quota: flag,
  used_quota: count,
  /** new-api. */
  model_limits_enabled: flag,
  model_limits: text,
  allow_ips: text,
  group: text,
  /** one-api. */
  models: text,
  subnet: text,
  deleted_at: z.unknown().optional(),
})

const userRow = z.object({
  id,
  username: text,
  role: count,
  status: count,
  email: text,
  quota: count,
  used_quota: count,
  group: text,
  deleted_at: z.unknown().optional(),
})

const optionRow = z.object({ key: z.string(), value: text })

export type Channel = z.output<typeof channelRow>
export type Token = z.output<typeof tokenRow>
export type User = z.output<typeof userRow>

export interface ApiDatabase {
  channels: Channel[]
  tokens: Token[]
  users: User[]
  options: ReadonlyMap<string, string>
}

export const tableOrders = { channels: 'id', tokens: 'id', users: 'id', options: 'key' }

export function readDatabase(tables: Tables): ApiDatabase {
  const read = <S extends z.ZodType>(name: string, schema: S) =>
    (tables.get(name) ?? []).map((row) => parseRow(name, schema, row))
  const isPresent = ({ deleted_at }: { deleted_at?: unknown }) =>
    deleted_at === null || deleted_at === undefined
  return {
    channels: read('channels', channelRow),
    tokens: read('tokens', tokenRow).filter(isPresent),
    users: read('users', userRow).filter(isPresent),
    options: new Map(read('options', optionRow).map(({ key, value }) => [key, value ?? ''])),
  }
}
