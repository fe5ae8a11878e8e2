import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { z } from 'zod'
import { checkDeclared, declaredProvider } from './catalog/declared.ts'
import { declaredModel } from './catalog/declared-model.ts'
import { dataRegions } from './catalog/vocabulary.ts'
import { type Config, ConfigError, settingsPath } from './config.ts'
import { readYaml, YamlError } from './lib/yaml.ts'
import { providers } from './providers/all.ts'

/** As browsers write it: no path, no trailing slash. */
const webOrigin = z
  .string()
  .refine(
    (text) => text === '*' || (URL.canParse(text) && new URL(text).origin === text),
    'must be an origin such as https://app.example.com, or *',
  )

const settingsFields = z.strictObject({
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
  /** Which web origins may call the API from a browser; `*` means any. */
  cors: z
    .strictObject({
      inference: z.array(webOrigin).default(['*']),
      management: z.array(webOrigin).default([]),
    })
    .prefault({}),
  /** Refuses `plain` PKCE challenges and codes without a challenge. */
  oauth: z.strictObject({ require_s256: z.boolean().default(false) }).prefault({}),
  providers: z.array(declaredProvider).default([]),
  models: z.array(declaredModel).default([]),
})

const settingsSchema = settingsFields.superRefine(checkDeclared(providers))

/** What headgate.yaml says. */
export type Settings = z.output<typeof settingsSchema>

/** The file is looked for anew each time: it may have been made since the start. */
export function readSettings(config: Config): Settings {
  const path = settingsPath(config.environment)
  if (path === null) return settingsSchema.parse({})
  try {
    return readYaml(readFileSync(path, 'utf8'), basename(path), settingsSchema, config.environment)
  } catch (error) {
    if (error instanceof YamlError) throw new ConfigError(error.message)
    throw new ConfigError(`The settings file ${path} cannot be read.`, { cause: error })
  }
}
