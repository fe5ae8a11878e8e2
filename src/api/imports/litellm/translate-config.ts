import type { ImportPlan } from '../import-plan.ts'
import { groupDeployments } from '../models/model-groups.ts'
import type { PeerContext } from '../peer.ts'
import { type ConfigFile, credentialSchema } from './config-file.ts'
import { addWildcards, readModelList } from './model-list.ts'
import { listUnreadSettings, readDefaults, translateAliases, translateFallbacks } from './settings.ts'
import type { StoredModels } from './stored-models.ts'
import { resolveVariables, type Variables } from './variables.ts'

/** What config.yaml and the database declare, as models of this gateway. */
export function translateConfig(
  config: ConfigFile,
  stored: StoredModels,
  context: PeerContext,
): Omit<ImportPlan, 'accounts'> {
  const own = Object.entries(config.environment_variables).map(([name, value]) => [name, String(value)])
  const variables: Variables = { ...context.variables, ...Object.fromEntries(own) }
  const models = context.createModels('litellm', variables)
  const credentials = readCredentials([...config.credential_list, ...stored.credential_list], variables)
  const listContext = { ...models, variables, credentials }
  const list = readModelList([...config.model_list, ...stored.model_list], listContext)
  const groups = groupDeployments(list.deployments, models, readDefaults(config))
  const withoutProvider = addWildcards(list.patterns, listContext)
  const aliases = translateAliases(config, groups)
  const { fallbacks, skipped } = translateFallbacks(config, groups)
  const created = new Set(groups.models.map(({ id }) => id))
  return {
    catalog: {
      providers: models.accounts.listPlanned(),
      models: groups.models.map((model) => {
        const own = fallbacks.find((one) => one.model === model.id)
        return own ? { ...model, fields: { ...model.fields, fallbacks: own.fallbacks } } : model
      }),
      known: groups.known,
      fallbacks: fallbacks.filter(({ model }) => !created.has(model)),
      aliases: [...groups.aliases, ...aliases.aliases],
    },
    skipped: [
      ...list.skipped,
      ...withoutProvider,
      ...groups.skipped,
      ...aliases.skipped,
      ...skipped,
      ...listUnreadSettings(config),
      ...stored.skipped,
    ],
  }
}

function readCredentials(list: readonly unknown[], variables: Variables) {
  return new Map(
    list.flatMap((entry) => {
      const { data } = credentialSchema.safeParse(resolveVariables(entry, variables).value)
      return data ? [[data.credential_name, data.credential_values] as const] : []
    }),
  )
}
