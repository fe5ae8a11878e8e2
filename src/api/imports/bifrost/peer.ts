import { groupDeployments, toCatalogPlan } from '../models/model-groups.ts'
import type { Peer } from '../peer.ts'
import { SourceError } from '../source.ts'
import { translateAccounts } from './accounts.ts'
import { readProviders } from './providers.ts'
import { translateRules } from './routing.ts'
import { readConfiguration, readStore, tableOrders } from './rows.ts'

export const bifrost: Peer = {
  name: 'bifrost',
  title: 'Bifrost',
  reads:
    'providers, virtual keys, teams, customers, budgets and rate limits from config.json or the store of Bifrost',
  tables: tableOrders,
  recognizes: ({ value, tables }) =>
    tables.has('governance_virtual_keys') ||
    (typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      'providers' in value &&
      !Array.isArray(value.providers) &&
      ('config_store' in value || 'governance' in value || 'client' in value || '$schema' in value)),
  translate: (documents, context) => {
    const [document, second] = documents
    if (!document || second) throw new SourceError('One config.json or one store is read at a time.')
    const configuration =
      document.tables.size > 0 ? readStore(document.tables) : readConfiguration(document.name, document.value)
    const models = context.createModels('bifrost', context.variables)
    const providers = readProviders(configuration, models, context.variables)
    const groups = groupDeployments(providers.deployments, models)
    const rules = translateRules(configuration, groups.idOf, models.models)
    const accounts = translateAccounts(configuration, context.variables, context.now)
    return {
      catalog: toCatalogPlan(models, groups, rules.aliases),
      accounts: accounts.accounts,
      skipped: [...providers.skipped, ...groups.skipped, ...rules.skipped, ...accounts.skipped],
    }
  },
}
