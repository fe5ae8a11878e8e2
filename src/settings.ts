import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { z } from 'zod'
import { checkDeclared, declaredProvider } from './catalog/declared.ts'
import { declaredModel } from './catalog/declared-model.ts'
import { dataRegions } from './catalog/vocabulary.ts'
import { type Config, ConfigError } from './config.ts'
import { readYaml, YamlError } from './lib/yaml.ts'
import { providers } from './providers/all.ts'

const settingsFields = z.strictObject({
  /** Where browsers and links find this server, when it is behind a proxy. */
  public_url: z.url({ protocol: /^https?$/ }).optional(),
  regions: z
    .strictObject({
      default: z.enum(dataRegions).default('global'),
      hosts: z.record(z.string(), z.enum(dataRegions)).default({}),
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
      inference: z.array(z.string()).default(['*']),
      management: z.array(z.string()).default([]),
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

export function readSettings(config: Config): Settings {
  if (!config.settingsPath) return settingsSchema.parse({})
  try {
    const text = readFileSync(config.settingsPath, 'utf8')
    return readYaml(text, basename(config.settingsPath), settingsSchema, config.environment)
  } catch (error) {
    if (error instanceof YamlError) throw new ConfigError(error.message)
    throw error
  }
}
