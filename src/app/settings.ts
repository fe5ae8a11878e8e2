import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { z } from 'zod'
import { type RecordKind, recordCeilings } from '../account/ceilings.ts'
import { createDeclarationCheck, type DeclaredCatalogue, declaredProvider } from '../catalogue/declared.ts'
import { declaredModel } from '../catalogue/declared-model.ts'
import { pricing } from '../catalogue/price.ts'
import { dataRegions } from '../catalogue/vocabulary.ts'
import { type Config, ConfigError, findSettingsPath } from '../config.ts'
import { usdAmount } from '../ledger/money.ts'
import { parseYaml, YamlError } from '../lib/yaml.ts'
import { providers } from '../providers/all.ts'

/** As browsers write it: no path, no trailing slash. */
const webOrigin = z
  .string()
  .refine(
    (text) => text === '*' || (URL.canParse(text) && new URL(text).origin === text),
    'must be an origin such as https://app.example.com, or *',
  )

/** Given in seconds, used in milliseconds. */
function secondsField(fallback: number) {
  return z
    .number()
    .positive()
    .max(86_400)
    .default(fallback)
    .transform((value) => value * 1000)
}

/** One count for each kind of record, with its default. */
function buildCeilingFields() {
  const counts = Object.entries(recordCeilings).map(([kind, { defaultMax }]) => [
    kind,
    z.int().min(1).default(defaultMax),
  ])
  return Object.fromEntries(counts) as Record<RecordKind, z.ZodDefault<z.ZodInt>>
}

/** Every section of headgate.yaml. */
export const settingsFields = z.strictObject({
  /** Where browsers and links find this server, when it is behind a proxy. */
  public_url: z.url({ protocol: /^https?$/ }).optional(),
  regions: z
    .strictObject({
      default: z.enum(dataRegions).default('global'),
      hosts: z
        .record(z.string(), z.enum(dataRegions))
        .default({})
        .transform(
          (hosts) => new Map(Object.entries(hosts).map(([host, region]) => [host.toLowerCase(), region])),
        ),
    })
    .prefault({}),
  egress: z
    .strictObject({
      allow_private: z
        .array(z.string().regex(/^[^\s/:]+:\d{1,5}$|^\[[0-9a-fA-F:]+\]:\d{1,5}$/, 'must be host:port'))
        .default([]),
    })
    .prefault({}),
  /** What a request to a model may take. Sizes in bytes, times in seconds. */
  limits: z
    .strictObject({
      /** Of the body of a request. */
      body_bytes: z
        .int()
        .min(1024)
        .default(32 * 1024 * 1024),
      /** Values of all kinds in the JSON of a body: what it takes to parse grows with them, not with its bytes. */
      body_values: z.int().min(1000).default(500_000),
      /** Messages, input items, contents, tools, entries of `logit_bias` or of any other list or object of a request, and its fields. */
      list_entries: z.int().min(100).default(10_000),
      /** Content parts of all messages together. */
      parts: z.int().min(100).default(20_000),
      /** How long the sender of a body may pause, and the bytes a second it must send on average beyond that. */
      body_idle: secondsField(30),
      body_rate: z.int().min(1).default(4096),
      /** Of a reply of a provider, whole or streamed. */
      reply_bytes: z
        .int()
        .min(1024)
        .default(64 * 1024 * 1024),
      /** Of a streamed reply. */
      reply_events: z.int().min(1).default(500_000),
      /** Tool calls, texts, images and other parts of a reply. */
      reply_parts: z.int().min(1).default(10_000),
      /** To reach a provider. */
      connect: secondsField(10),
      /** From the request to the first byte of a stream. */
      first_byte: secondsField(120),
      /** Until the first content of a stream, from when it has begun: reasoning that is not shown takes time. */
      first_content: secondsField(600),
      /** Between two events of a stream that add something to the reply; until the first one, between any two bytes. */
      idle: secondsField(300),
      /** For a reply that is not streamed, and for a stream from beginning to end. */
      whole_reply: secondsField(600),
      total: secondsField(3600),
      /** How long a client may be sent nothing before it is sent a heartbeat. */
      heartbeat: secondsField(10),
      /** The longest time that a provider's `Retry-After` keeps it from being used. */
      cooldown: secondsField(300),
      /** How long requests in flight may take to finish once the process was told to stop. */
      drain: secondsField(25),
      /** Requests of one key in a minute, on one node: beyond it something is wrong. */
      requests_per_minute: z.int().min(1).default(1_000_000),
    })
    .prefault({}),
  /** How many records of each kind one owner may have. */
  ceilings: z.strictObject(buildCeilingFields()).prefault({}),
  billing: z
    .strictObject({
      /** Share of the list price that a request with a key of one's own costs. */
      byok_fee: z.number().min(0).max(1).default(0.05),
      /** The most that an endpoint without a price may cost: with it, keys with a limit may use such endpoints. */
      unknown_price: pricing.optional(),
    })
    .prefault({}),
  /** Responses that clients ask to be kept. */
  responses: z
    .strictObject({
      /** Whether a response is kept when the request does not say. */
      store: z.boolean().default(true),
      retention_days: z.int().min(1).max(3650).default(30),
      /** How many of one workspace may be made in the background at the same time. */
      background: z.int().min(0).max(10_000).default(100),
      /** Of one workspace: beyond either the oldest are deleted. */
      max_count: z.int().min(1).default(100_000),
      max_bytes: z
        .int()
        .min(1024 * 1024)
        .default(4 * 1024 ** 3),
    })
    .prefault({}),
  /** Replies that are given once more to who asks the same again, in the memory of this node. */
  response_cache: z
    .strictObject({
      enabled: z.boolean().default(true),
      /** Of all of them. */
      bytes: z
        .int()
        .min(0)
        .default(64 * 1024 * 1024),
      /** Of one: a longer reply is not kept. */
      entry_bytes: z
        .int()
        .min(0)
        .default(4 * 1024 * 1024),
    })
    .prefault({}),
  /** What is kept of requests once they are answered. */
  records: z
    .strictObject({
      /** Generations, with what belongs to them; what they add up to stays. Null keeps them for ever. */
      retention_days: z.int().min(1).max(3650).nullable().default(92),
      /** Until charges of a day become one posting for each organization. Null: as long as generations are kept. */
      posting_days: z.int().min(1).max(3650).nullable().default(null),
      /** Prompts and replies, in workspaces that have them kept. */
      content_retention_days: z.int().min(1).max(3650).default(92),
    })
    .prefault({}),
  /** Which web origins may call the API from a browser; `*` means any. */
  cors: z
    .strictObject({
      inference: z.array(webOrigin).default(['*']),
      management: z.array(webOrigin).default([]),
    })
    .prefault({}),
  /** `require_s256` refuses `plain` PKCE challenges and codes without a challenge. */
  oauth: z
    .strictObject({
      require_s256: z.boolean().default(false),
      /** The most, in USD, that a key a member approves on the consent page may spend. Null sets no limit. */
      member_key_limit: usdAmount.nullable().prefault(10),
    })
    .prefault({}),
  providers: z.array(declaredProvider).default([]),
  models: z.array(declaredModel).default([]),
})

const settingsSchema = settingsFields.superRefine(createDeclarationCheck(providers))

/** What headgate.yaml says. */
export type Settings = z.output<typeof settingsSchema> & Pick<DeclaredCatalogue, 'declaredAt'>

/** The file is looked for anew each time: it may have been made since the start. */
export function readSettings(config: Config): Settings {
  const path = findSettingsPath(config.environment)
  if (path === null) return settingsSchema.parse({})
  try {
    const settings = parseYaml(readFileSync(path, 'utf8'), basename(path), settingsSchema, config.environment)
    // A list has no times of its own: that of the file is the same after a restart.
    const changedAt = Math.floor(statSync(path).mtimeMs / 1000)
    return { ...settings, declaredAt: new Map(settings.models.map(({ id }) => [id, changedAt])) }
  } catch (error) {
    if (error instanceof YamlError) throw new ConfigError(error.message)
    throw new ConfigError(`The settings file ${path} cannot be read.`, { cause: error })
  }
}
