import type { Gateway } from '../../../gateway/gateway.ts'
import type { ImportPlan } from '../import-plan.ts'
import { Accounts } from './accounts.ts'
import { type ConfigFile, credentialSchema } from './config-file.ts'
import { KnownModels } from './known-models.ts'
import { translateModelList } from './model-groups.ts'
import { listUnreadSettings, readDefaults, translateAliases, translateFallbacks } from './settings.ts'
import { resolveVariables } from './variables.ts'

type Variables = Readonly<Record<string, string | undefined>>

/** What a config.yaml declares, as models of this gateway. `given` are variables of the command. */
export function translateConfig(
  gateway: Gateway,
  config: ConfigFile,
  given: Variables,
): Omit<ImportPlan, 'accounts'> {
  const own = Object.entries(config.environment_variables).map(([name, value]) => [name, String(value)])
  const variables: Variables = { ...given, ...Object.fromEntries(own) }
  const accounts = new Accounts(gateway.catalog.providers, variables)
  const models = new KnownModels(gateway)
  const credentials = readCredentials(config, variables)
  const groups = translateModelList(
    config.model_list,
    { variables, credentials, accounts, models },
    readDefaults(config),
  )
  const aliases = translateAliases(config, groups)
  const { fallbacks, skipped } = translateFallbacks(config, groups)
  const created = new Set(groups.models.map(({ id }) => id))
  return {
    catalog: {
      providers: accounts.listPlanned(),
      models: groups.models.map((model) => {
        const own = fallbacks.find((one) => one.model === model.id)
        return own ? { ...model, fields: { ...model.fields, fallbacks: own.fallbacks } } : model
      }),
      known: groups.known,
      fallbacks: fallbacks.filter(({ model }) => !created.has(model)),
      aliases: [...groups.aliases, ...aliases.aliases],
    },
    skipped: [...groups.skipped, ...aliases.skipped, ...skipped, ...listUnreadSettings(config)],
  }
}

function readCredentials({ credential_list }: ConfigFile, variables: Variables) {
  return new Map(
    credential_list.flatMap((entry) => {
      const { data } = credentialSchema.safeParse(resolveVariables(entry, variables).value)
      return data ? [[data.credential_name, data.credential_values] as const] : []
    }),
  )
}
