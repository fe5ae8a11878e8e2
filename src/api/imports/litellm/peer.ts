import { noAccounts } from '../import-plan.ts'
import type { Peer } from '../peer.ts'
import { SourceError } from '../source.ts'
import { emptyConfig, toConfigFile } from './config-file.ts'
import { readRows, tableOrders } from './database-rows.ts'
import { createDecrypt } from './decrypt.ts'
import { readStoredModels } from './stored-models.ts'
import { translateConfig } from './translate-config.ts'
import { translateDatabase } from './translate-database.ts'

const sections = ['model_list', 'litellm_settings', 'router_settings', 'general_settings']

export const litellm: Peer = {
  name: 'litellm',
  title: 'LiteLLM',
  reads: 'models from config.yaml of LiteLLM, and teams, users, keys, budgets and models from its database',
  tables: tableOrders,
  secret: { flag: 'salt-key-env', description: 'LITELLM_SALT_KEY, or the master key where that is not set' },
  recognizes: ({ value, tables }) =>
    tables.has('LiteLLM_VerificationToken') ||
    (typeof value === 'object' && value !== null && sections.some((name) => name in value)),
  translate: (documents, context) => {
    const files = documents.filter(({ tables }) => tables.size === 0)
    const databases = documents.filter(({ tables }) => tables.size > 0)
    if (files.length > 1 || databases.length > 1)
      throw new SourceError('One config.yaml and one database are read at a time.')
    const [file] = files
    const [database] = databases
    const config = file ? toConfigFile(file.name, file.value) : emptyConfig
    const rows = database && readRows(database.tables)
    const decrypt = context.secret === undefined ? null : createDecrypt(context.secret)
    const stored = rows
      ? readStoredModels(rows, decrypt)
      : { model_list: [], credential_list: [], skipped: [] }
    const accounts = rows ? translateDatabase(rows, context.now) : { accounts: noAccounts, skipped: [] }
    const models = translateConfig(config, stored, context)
    return {
      catalog: models.catalog,
      accounts: accounts.accounts,
      skipped: [...models.skipped, ...accounts.skipped],
    }
  },
}
