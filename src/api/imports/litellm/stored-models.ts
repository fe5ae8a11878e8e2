import type { SkippedItem } from '../import-plan.ts'
import type { LiteLlmDatabase } from './database-rows.ts'
import type { Decrypt } from './decrypt.ts'

/** Entries like those of config.yaml that were made in LiteLLM's own console. */
export interface StoredModels {
  model_list: unknown[]
  credential_list: unknown[]
  skipped: SkippedItem[]
}

/** Every text in the parameters of a model, and in a credential, is encrypted by itself. */
export function readStoredModels(
  { models, credentials }: Pick<LiteLlmDatabase, 'models' | 'credentials'>,
  decrypt: Decrypt | null,
): StoredModels {
  const stored: StoredModels = { model_list: [], credential_list: [], skipped: [] }
  for (const { credential_name, credential_values } of credentials) {
    const values = decrypt && decryptTexts(credential_values, decrypt)
    if (values) stored.credential_list.push({ credential_name, credential_values: values })
    else stored.skipped.push({ kind: 'credential', name: credential_name, ...explain(decrypt) })
  }
  for (const { model_name, litellm_params, model_info, blocked } of models) {
    const params = decrypt && decryptTexts(litellm_params, decrypt)
    const item = { kind: 'model', name: model_name }
    if (!params) stored.skipped.push({ ...item, ...explain(decrypt) })
    else if (blocked) stored.skipped.push({ ...item, reason: 'is blocked there' })
    else stored.model_list.push({ model_name, litellm_params: params, model_info })
  }
  return stored
}

function explain(decrypt: Decrypt | null): Pick<SkippedItem, 'reason' | 'needsSecret'> {
  if (decrypt)
    return {
      reason:
        'cannot be decrypted with this key: it is LITELLM_SALT_KEY, or the master key where that is not set',
    }
  return {
    reason:
      'is encrypted in the database; give LITELLM_SALT_KEY with --salt-key-env, or write it into config.yaml',
    needsSecret: true,
  }
}

/** Null if one cannot be decrypted. */
function decryptTexts(
  values: Readonly<Record<string, unknown>>,
  decrypt: Decrypt,
): Record<string, unknown> | null {
  const entries = Object.entries(values).map(
    ([name, value]) => [name, typeof value === 'string' && value !== '' ? decrypt(value) : value] as const,
  )
  return entries.some(([, value]) => value === undefined) ? null : Object.fromEntries(entries)
}
