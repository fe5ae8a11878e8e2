import { buildCatalog } from '../../catalog/catalog.ts'
import { DiscoveredModels } from '../../catalog/discovery/lists.ts'
import { type CatalogProvider, isKeyless } from '../../catalog/model.ts'
import type { CatalogOverrides } from '../../catalog/overrides.ts'
import { simulators } from '../../catalog/providers/simulators.ts'
import { readOverrides } from '../../catalog/store.ts'
import type { Config } from '../../config.ts'
import { buildCatalogSources, composeCatalog } from '../../gateway/reload.ts'
import type { Settings } from '../../gateway/settings.ts'
import { testCredential } from '../../inference/upstream/test-credential.ts'
import type { TestOutcome } from '../../inference/upstream/test-outcome.ts'
import type { Vault } from '../../platform/crypto/crypto.ts'
import type { Db } from '../../platform/db/db.ts'
import { withGateway } from '../command.ts'
import { type CheckResult, failed, passed, warned } from './check-result.ts'

const check = 'providers'

export interface ProviderSources {
  config: Config
  settings: Settings
  /** Without them, what operators changed at run time is not seen. */
  stored: { db: Db; vault: Vault } | null
}

/** Whether credentials are present and complete. Nothing is sent. */
export async function checkProviders(sources: ProviderSources): Promise<CheckResult[]> {
  const { providers, problems } = await loadProviders(sources)
  const declared = new Set(sources.settings.providers.map(({ slug }) => slug))
  const ready = providers.filter(({ slug, enabled }) => enabled && !simulators.has(slug))
  return [
    describeReady(ready),
    ...providers
      .filter(({ enabled }) => !enabled)
      .flatMap((provider) => describeUnusable(provider, declared)),
    ...problems.map((problem) =>
      warned(
        check,
        `A change of the catalog is ignored: ${problem}`,
        'Correct or remove it on the screen Models of the console.',
      ),
    ),
  ]
}

async function loadProviders({ config, settings, stored }: ProviderSources) {
  const sources = buildCatalogSources({ config, settings })
  if (stored === null) return { providers: buildCatalog(sources).providers, problems: [] }
  const { db, vault } = stored
  const parts = { config, settings, vault, discovered: await DiscoveredModels.open(db) }
  const { catalog, overrides } = composeCatalog(parts, await readOverrides(db))
  return { providers: catalog.providers, problems: listProblems(overrides) }
}

function listProblems({ problems }: CatalogOverrides): string[] {
  return [...problems].map(([key, { message }]) => `${key.trim()}: ${message}`)
}

function describeReady(ready: readonly CatalogProvider[]): CheckResult {
  const list = ready.map((provider) => `${provider.slug}${isKeyless(provider) ? ' (without a key)' : ''}`)
  if (list.length > 0) return passed(check, `Ready for requests: ${list.join(', ')}.`)
  return warned(
    check,
    'No provider has a credential, so only the sandbox and BYOK keys serve requests.',
    'Add the key of a provider on the screen Models of the console, in headgate.yaml or in the environment.',
  )
}

/** Built-in providers without a credential are not in use. */
function describeUnusable(
  { slug, keyVariable, installation: { problem } }: CatalogProvider,
  declared: ReadonlySet<string>,
): CheckResult[] {
  if (problem !== null)
    return [
      warned(
        check,
        `The credential of ${slug} is not used: ${problem}.`,
        'Correct it, or remove it if it belongs to another program.',
      ),
    ]
  if (!declared.has(slug)) return []
  const sources = ['api_key in headgate.yaml', ...(keyVariable ? [keyVariable] : [])]
  return [
    warned(
      check,
      `${slug} is declared in headgate.yaml and has no credential.`,
      `Set ${sources.join(' or ')}.`,
    ),
  ]
}

/** Sends a request of a few tokens to a model of every provider, which its vendor may bill. */
export function testProviders({ variables }: Config): Promise<CheckResult[]> {
  return withGateway(async (gateway) => {
    const ready = gateway.catalog.providers.filter(({ slug, enabled }) => enabled && !simulators.has(slug))
    return Promise.all(
      ready.map(async (provider) =>
        describeOutcome(provider.slug, await testCredential(gateway, { provider, byokKey: null })),
      ),
    )
  }, variables)
}

function describeOutcome(slug: string, outcome: TestOutcome): CheckResult {
  const { ok, model, duration_ms, status, message, remedy, provider_message } = outcome
  if (ok) return passed(check, `${slug}: ${message} (${model}, ${duration_ms} ms)`)
  const details = [status !== null && `status ${status}`, provider_message].filter(Boolean).join(': ')
  const text = `${slug}: ${message}${details && ` (${details})`}`
  return failed(check, text, remedy ?? 'Test it on the screen Models of the console.')
}
