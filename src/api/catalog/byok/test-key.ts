import { z } from 'zod'
import { resolveReachableWorkspace } from '../../../access/reachable-workspace.ts'
import { transact } from '../../../access/transact.ts'
import { toByokKey } from '../../../catalog/byok-keys.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { credentialTestLimit } from '../../../http/rate-limit.ts'
import { type CredentialTest, testCredential } from '../../../inference/upstream/test-credential.ts'
import { createFailedOutcome, testedModel, testOutcome } from '../../../inference/upstream/test-outcome.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { credentialText, encryptKey } from './credential.ts'
import { describeKey } from './record.ts'
import {
  findProviderOrigin,
  rejectKeylessProvider,
  resolveKeyLabel,
  resolveProviderSlug,
} from './resolve-provider.ts'
import { byokKeys, requireReachable } from './store.ts'

const tag = 'BYOK'
const testNote =
  'Sends a prompt of one word, for at most 16 tokens, to the cheapest text model that the key may use. The provider bills it to your account; nothing is charged or recorded here, and routing does not take it into account. It takes at most about 20 seconds.'

const testResponse = z.strictObject({ data: testOutcome })

export const testByokKey = defineOperation({
  id: 'testByokKey',
  method: 'POST',
  path: '/byok/{id}/test',
  tag,
  summary: 'Tests a BYOK key: sends a small request with it, and says which step failed.',
  description: testNote,
  permission: 'byok:write',
  params: z.object({ id: z.uuid().toLowerCase() }),
  body: z.strictObject({ model: testedModel }),
  optionalBody: true,
  rateLimit: credentialTestLimit,
  errors: [404],
  response: testResponse,
  handle: async (context) => {
    const { gateway, caller, scope, params, body } = context
    const row = requireReachable(scope, await byokKeys.find(gateway.db, caller.organizationId, params.id))
    if (row.sealed_key === null) throw gatewayError('not_found', 'The BYOK key does not exist.')
    const byokKey = toByokKey(row, row.sealed_key)
    const data = await test(gateway, row.provider, { byokKey, model: body.model })
    const details = { ok: data.ok, failed_step: data.failed_step, model: data.model }
    await transact(context, async (_tx, record) =>
      record({ action: 'byok_key.test', ...describeKey(row), details }),
    )
    return { data }
  },
})

export const testByokDraft = defineOperation({
  id: 'testByokDraft',
  method: 'POST',
  path: '/byok/test',
  tag,
  summary: 'Tests a credential before it is saved as a BYOK key.',
  description: `${testNote} The credential is not stored.`,
  permission: 'byok:write',
  body: z.strictObject({
    provider: z.string().min(1).max(100),
    key: credentialText,
    workspace_id: z.uuid().optional().describe('Defaults to the default workspace.'),
    model: testedModel,
  }),
  rateLimit: credentialTestLimit,
  response: testResponse,
  handle: async (context) => {
    const { gateway, body } = context
    const provider = resolveProviderSlug(gateway, body.provider)
    rejectKeylessProvider(gateway, provider)
    resolveKeyLabel(gateway, provider, body.key)
    const { id: workspaceId } = await resolveReachableWorkspace(gateway.db, context, body.workspace_id)
    const byokKey = createDraftKey(gateway, provider, body.key)
    const data = await test(gateway, provider, { byokKey, model: body.model })
    const details = { ok: data.ok, failed_step: data.failed_step, model: data.model }
    await transact(context, async (_tx, record) =>
      record({ action: 'byok_key.test', target: { type: 'provider', id: provider }, workspaceId, details }),
    )
    return { data }
  },
})

/** Encrypted like a stored key, because a test opens it the same way. */
function createDraftKey(gateway: Gateway, provider: string, key: string): CredentialTest['byokKey'] {
  const id = newUuid()
  return {
    id,
    provider,
    encrypted: encryptKey(gateway.vault, id, key),
    origin: findProviderOrigin(gateway, provider),
    isFallback: false,
    isRequired: false,
    isByokOnly: false,
    declaredZdr: null,
    allowedModels: null,
  }
}

async function test(gateway: Gateway, slug: string, test: Omit<CredentialTest, 'provider'>) {
  const provider = gateway.catalog.providerByName.get(slug)
  return provider ? testCredential(gateway, { ...test, provider }) : uncataloged
}

const uncataloged = createFailedOutcome('model', {
  message: 'The catalog has no text model of this provider, so the key cannot be tested.',
  remedy: 'Add a model of the provider to the catalog to test it.',
})
