import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { z } from 'zod'
import { appSubcategories } from '../analytics/datasets/app-categories.ts'
import { normalizeAppUrl } from '../analytics/datasets/app-url.ts'
import { createDeclarationCheck, type DeclaredCatalog, declaredProvider } from '../catalog/declared.ts'
import { declaredModel } from '../catalog/declared-model.ts'
import { pricing } from '../catalog/price.ts'
import { providers } from '../catalog/providers/all.ts'
import { type Config, ConfigError, findSettingsPath, logLevels } from '../config.ts'
import { containerSettings } from '../containers/settings.ts'
import { dataRegions } from '../formats/vocabulary.ts'
import { checkLimitSettings, limitSettings } from '../governance/limits/limit-settings.ts'
import { type RecordKind, recordCeilings } from '../identity/ceilings.ts'
import { identitySettings } from '../identity/identity-settings.ts'
import { cacheSettings } from '../inference/cache/settings.ts'
import { passthroughSettings } from '../inference/passthrough/settings.ts'
import { prioritySettings } from '../inference/rates/settings.ts'
import { fusionSettings } from '../inference/routers/fusion-presets.ts'
import { routerSettings } from '../inference/routers/settings.ts'
import { webSettings } from '../inference/web/settings.ts'
import { toAsciiHost } from '../platform/http/host-name.ts'
import { subsystems } from '../platform/logging/subsystem-log.ts'
import { usdAmount } from '../platform/money/money-schema.ts'
import { secondsField, secretField } from '../platform/validation/setting-fields.ts'
import { parseYaml, YamlError } from '../platform/validation/yaml.ts'
import { fileParserSettings } from './file-parser-settings.ts'
import { metricsSettings } from './model-metrics/settings.ts'
import { requestLimits } from './request-limits.ts'

/** An origin in the form of the Origin header: no path, no trailing slash. */
const webOrigin = z
  .string()
  .refine(
    (text) => text === '*' || toWebOrigin(text) !== null,
    'must be an origin such as https://app.example.com, or *',
  )
  .overwrite((text) => toWebOrigin(text) ?? text)

/** The origin as browsers send it, with its host as hosts are compared; null if the text has more than an origin. */
function toWebOrigin(text: string): string | null {
  const url = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\\]+$/i.test(text) ? URL.parse(text) : null
  return url === null || url.origin === 'null' ? null : url.origin
}

const bucket = z.strictObject({
  endpoint: z.url({ protocol: /^https?$/ }),
  bucket: z.string().min(1),
  region: z.string().min(1).default('us-east-1'),
  /** Prefix of every key. Objects below it without a record are deleted, so no two installations share one. */
  prefix: z.string().default('headgate/'),
  access_key_id: secretField(z.string().min(1)),
  secret_access_key: secretField(z.string().min(1)),
})

export type BucketSettings = z.output<typeof bucket>

/** The operator's description of an app that is ranked. */
const datasetApp = z.strictObject({
  url: z
    .string()
    .refine((text) => normalizeAppUrl(text) !== null, 'must be a URL such as https://app.example.com')
    .transform((text) => normalizeAppUrl(text) ?? ''),
  name: z.string().min(1).max(200).optional(),
  subcategory: z.enum(appSubcategories).optional(),
})

/** One maximum for each kind of record. */
function buildCeilingFields() {
  const counts = Object.entries(recordCeilings).map(([kind, { defaultMax }]) => [
    kind,
    z.int().min(1).default(defaultMax),
  ])
  return Object.fromEntries(counts) as Record<RecordKind, z.ZodDefault<z.ZodInt>>
}

/** Every section of headgate.yaml. */
export const settingsFields = z.strictObject({
  /** The public URL of this server when it is behind a proxy, for browsers and links. */
  public_url: z.url({ protocol: /^https?$/ }).optional(),
  regions: z
    .strictObject({
      default: z.enum(dataRegions).default('global'),
      hosts: z
        .record(z.string(), z.enum(dataRegions))
        .default({})
        .transform(
          (hosts) => new Map(Object.entries(hosts).map(([host, region]) => [toAsciiHost(host), region])),
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
  limits: requestLimits,
  /** Records of each kind that one owner may have. */
  ceilings: z.strictObject(buildCeilingFields()).prefault({}),
  billing: z
    .strictObject({
      /** Fee of a request with a BYOK key, as a share of the list price. */
      byok_fee: z.number().min(0).max(1).default(0.05),
      /**
       * Endpoints without a price. `refuse`: no request uses them. `zero`: they cost nothing. A price: the worst case, which
       * lets keys with a limit use them. Without it, only keys without a limit use them, for nothing.
       */
      unknown_price: z.union([z.enum(['refuse', 'zero']), pricing]).optional(),
    })
    .prefault({}),
  ledger: z
    .strictObject({
      /** `strict`: a charge is on disk before its reply ends. `relaxed`: within a fraction of a second. */
      durability: z.enum(['strict', 'relaxed']).default('strict'),
    })
    .prefault({}),
  /** Uploaded files. Sizes in bytes. */
  files: z
    .strictObject({
      /** Size of one file. The maximum is what S3 accepts in one request. */
      max_bytes: z
        .int()
        .min(1024)
        .max(5 * 1024 ** 3)
        .default(100 * 1024 * 1024),
      /** Size of all files of a workspace. */
      workspace_bytes: z
        .int()
        .min(1024)
        .default(10 * 1024 ** 3),
      /** Bucket of the files; null: the data directory. */
      s3: bucket.nullable().default(null),
    })
    .prefault({}),
  containers: containerSettings.prefault({}),
  fusion: fusionSettings,
  passthrough: passthroughSettings,
  priorities: prioritySettings,
  metrics: metricsSettings,
  logging: z
    .strictObject({
      /** Null: LOG_LEVEL. */
      level: z.enum(logLevels).nullable().default(null),
      /** Levels of parts of the server that differ. */
      subsystems: z.partialRecord(z.enum(subsystems), z.enum(logLevels)).default({}),
    })
    .prefault({}),
  /** Stored responses of the Responses API. */
  responses: z
    .strictObject({
      /** The default of `store` in a request. */
      store: z.boolean().default(true),
      retention_days: z.int().min(1).max(3650).default(30),
      /** Background responses of one workspace in progress at the same time. */
      background: z.int().min(0).max(10_000).default(100),
      /** Limits of one workspace. Beyond either one, the oldest responses are deleted. */
      max_count: z.int().min(1).default(100_000),
      max_bytes: z
        .int()
        .min(1024 * 1024)
        .default(4 * 1024 ** 3),
    })
    .prefault({}),
  /** Video jobs. */
  videos: z
    .strictObject({
      /** Jobs of one workspace in progress at the same time. */
      active: z.int().min(0).max(10_000).default(100),
      /** A job that has not ended after this time expires. In seconds. */
      timeout: secondsField(6 * 3600),
      /** Hours for which finished videos are stored. */
      content_hours: z.int().min(1).max(8760).default(72),
      /** Size of one video. */
      max_bytes: z
        .int()
        .min(1024 * 1024)
        .default(1024 ** 3),
    })
    .prefault({}),
  ...cacheSettings,
  /** Delivery of finished requests to destinations. The bounds are those of one destination. */
  observability: z
    .strictObject({
      /** Events that wait. Beyond any of these bounds, the oldest are dropped. */
      queue_events: z.int().min(1).default(100_000),
      queue_bytes: z
        .int()
        .min(1024 * 1024)
        .default(1024 ** 3),
      queue_hours: z.int().min(1).max(8760).default(72),
      /** Events that the destination rejected, kept to be sent again on request. */
      failed_events: z.int().min(0).default(1000),
      /** Seconds for one request to a destination. */
      timeout: secondsField(15, 120),
    })
    .prefault({}),
  /** The model that classifies prompts, for guardrails and the plugin `moderation`. */
  moderation: z
    .strictObject({
      model: z.string().min(1).nullable().default(null),
      /** Seconds for the reply of the model, failover included. */
      timeout: secondsField(10),
    })
    .prefault({}),
  file_parser: fileParserSettings.prefault({}),
  web: webSettings,
  /** Router models, which choose the model of a request. */
  routers: routerSettings.prefault({}),
  /** Rankings and other figures of this installation's traffic, which every key may read. */
  datasets: z
    .strictObject({
      /** False: the figures cannot be read. */
      publish: z.boolean().default(true),
      /** Whom users of the data have to name. Null: the organization that operates this installation. */
      operator_name: z.string().min(1).max(200).nullable().default(null),
      /** A figure needs at least this many organizations. Null: 5, or 1 while there is only one. */
      min_organizations: z.int().min(1).max(1000).nullable().default(null),
      /** One of this many requests is classified by its task; 0: none. */
      classify_one_in: z.int().min(0).max(1_000_000).default(10),
      /** Names and categories of apps, by address. */
      apps: z.array(datasetApp).max(1000).default([]),
    })
    .prefault({}),
  /** Records of finished requests. */
  records: z
    .strictObject({
      /** Generations and their details; the totals remain. Null retains them forever. */
      retention_days: z.int().min(1).max(3650).nullable().default(92),
      /** Age at which the charges of a day are compacted to one posting per organization. Null: `retention_days`. */
      posting_days: z.int().min(1).max(3650).nullable().default(null),
      /** Prompts and replies, in workspaces that log them. */
      content_retention_days: z.int().min(1).max(3650).default(92),
      /** `bucket`: prompts and replies are moved from the database to the bucket of `files.s3`. */
      contents: z.enum(['database', 'bucket']).default('database'),
      /** `month`: on PostgreSQL, expired records are dropped by whole months, and stored up to a month longer. */
      delete_by: z.enum(['day', 'month']).default('day'),
    })
    .prefault({}),
  /** Web origins that may call the API from a browser; `*` allows any. */
  cors: z
    .strictObject({
      inference: z.array(webOrigin).default(['*']),
      management: z.array(webOrigin).default([]),
    })
    .prefault({}),
  /** `require_s256` rejects `plain` PKCE challenges and codes without a challenge. */
  ...identitySettings,
  oauth: z
    .strictObject({
      require_s256: z.boolean().default(false),
      /** Maximum limit, in USD, of a key that a member approves on the consent page. Null: unlimited. */
      member_key_limit: usdAmount.nullable().prefault(10),
    })
    .prefault({}),
  ...limitSettings,
  providers: z.array(declaredProvider).default([]),
  models: z.array(declaredModel).default([]),
})

const settingsSchema = settingsFields
  // The sender of a request chooses its Host, and the link in a mail would lead there.
  .refine(({ smtp, public_url }) => !smtp || public_url !== undefined, {
    path: ['public_url'],
    message: 'is required with smtp, for the links in mails',
  })
  .refine(({ records, files }) => records.contents !== 'bucket' || files.s3 !== null, {
    path: ['records', 'contents'],
    message: 'cannot be bucket without files.s3',
  })
  .superRefine(checkLimitSettings)
  .superRefine(createDeclarationCheck(providers))

/** The validated headgate.yaml. */
export type Settings = z.output<typeof settingsSchema> & Pick<DeclaredCatalog, 'declaredAt'>

/** Looks for the file each time: it may have been created since the start. */
export function readSettings(config: Config): Settings {
  const path = findSettingsPath(config.environment)
  if (path === null) return settingsSchema.parse({})
  try {
    const settings = parseYaml(readFileSync(path, 'utf8'), basename(path), settingsSchema, config.environment)
    // Declared models have no creation time; that of the file is stable across restarts.
    const changedAt = Math.floor(statSync(path).mtimeMs / 1000)
    return { ...settings, declaredAt: new Map(settings.models.map(({ id }) => [id, changedAt])) }
  } catch (error) {
    if (error instanceof YamlError) throw new ConfigError(error.message)
    throw new ConfigError(`Cannot read the settings file ${path}.`, { cause: error })
  }
}
