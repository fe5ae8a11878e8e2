import { readFileSync } from 'node:fs'
import { buildCatalog } from '../../catalog/catalog.ts'
import { findModel } from '../../catalog/lookup.ts'
import {
  type Config,
  ConfigError,
  type Environment,
  findSettingsPath,
  ownVariables,
  readVariables,
} from '../../config.ts'
import { findExposedSecretFile, findMasterSecret } from '../../gateway/data-dir.ts'
import { assertModerationModel, buildCatalogSources } from '../../gateway/reload.ts'
import { loadConfig } from '../../gateway/secret-managers/resolve.ts'
import { readSettings, type Settings } from '../../gateway/settings.ts'
import { type CheckResult, failed, passed, warned } from './check-result.ts'

export interface Configuration {
  /** Null if the environment cannot be used. */
  config: Config | null
  /** Null if headgate.yaml cannot be used. */
  settings: Settings | null
  results: CheckResult[]
}

const check = 'configuration'

export async function checkConfiguration(variables: Environment = readVariables()): Promise<Configuration> {
  const environment = await withConfigErrors(() => loadConfig(variables), 'Correct the environment variable.')
  const config = environment.value
  if (config === null) return { config, settings: null, results: environment.problems }
  const file = await withConfigErrors(() => {
    const settings = readSettings(config)
    assertModerationModel({ config, settings })
    return settings
  }, 'Correct headgate.yaml. Its fields are described in docs/configuration.md.')
  const path = file.value && findSettingsPath(config.environment)
  const problems = [
    ...file.problems,
    ...findUnknownVariables(variables, path),
    ...(file.value ? findUnknownModels(config, file.value) : []),
    ...checkSecretFile(config),
  ]
  if (file.problems.length > 0) return { config, settings: file.value, results: problems }
  const valid = passed(check, `The environment and ${path ?? 'the defaults (no headgate.yaml)'} are valid.`)
  return { config, settings: file.value, results: [valid, ...problems] }
}

async function withConfigErrors<T>(
  read: () => T | Promise<T>,
  remedy: string,
): Promise<{ value: T | null; problems: CheckResult[] }> {
  try {
    return { value: await read(), problems: [] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { value: null, problems: [failed(check, error.message, remedy)] }
  }
}

/** Set by Kubernetes for a service of this name, and used in the examples of the documentation. */
const foreignVariable = /^HEADGATE_(?:PORT|SERVICE_|URL$)/

/** A misspelled variable has no effect, and no error either. headgate.yaml may name any. */
function findUnknownVariables(variables: Environment, settingsPath: string | null): CheckResult[] {
  const settings = settingsPath === null ? '' : readFileSync(settingsPath, 'utf8')
  return Object.keys(variables)
    .filter((name) => name.startsWith('HEADGATE_') && !foreignVariable.test(name))
    .filter((name) => !ownVariables.includes(name.replace(/_FILE$/, '')))
    .filter((name) => !settings.includes(`\${${name.replace(/_FILE$/, '')}}`))
    .map((name) =>
      warned(
        check,
        `The environment variable ${name} has no effect: Headgate has none of this name.`,
        'Remove it or correct its name. docs/configuration.md lists the variables.',
      ),
    )
}

/** Requests that need such a model fail; the server starts without it. */
function findUnknownModels(config: Config, settings: Settings): CheckResult[] {
  const catalog = buildCatalog(buildCatalogSources({ config, settings }))
  return listNamedModels(settings)
    .filter(([, model]) => model !== null && findModel(catalog, model) === undefined)
    .map(([field, model]) =>
      warned(
        check,
        `${field} of headgate.yaml names the model "${model}", which is neither built in nor declared there.`,
        'Correct the name, or declare the model in `models` unless it is in the catalog at run time.',
      ),
    )
}

function listNamedModels({ semantic_cache, file_parser, routers, fusion }: Settings) {
  const { weak, strong, judge } = routers.switchyard
  const named: [string, string | null][] = [
    ['semantic_cache.model', semantic_cache.model],
    ['file_parser.ocr_model', file_parser.ocr_model],
    ['routers.switchyard.judge', judge],
  ]
  for (const model of weak) named.push(['routers.switchyard.weak', model])
  for (const model of strong) named.push(['routers.switchyard.strong', model])
  for (const [name, preset] of Object.entries(fusion)) {
    const models = preset === null ? [] : [...preset.analysis_models, preset.model]
    for (const model of models) named.push([`fusion.${name}`, model])
  }
  return named
}

function checkSecretFile({ dataDir, secretKey }: Config): CheckResult[] {
  try {
    if (findMasterSecret(dataDir, secretKey) === null) return []
  } catch (error) {
    if (error instanceof ConfigError)
      return [failed(check, error.message, 'Restore secret.key from a backup, with the mode 600.')]
    throw error
  }
  const exposed = findExposedSecretFile(dataDir, secretKey)
  if (exposed === null) return []
  return [warned(check, `Other users of this machine can read ${exposed}.`, `Run: chmod 600 ${exposed}`)]
}
