import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import type { CatalogProvider } from '../../../catalog/model.ts'
import { defineOperation } from '../../../http/operation.ts'
import { credentialTestLimit } from '../../../http/rate-limit.ts'
import { testCredential } from '../../../inference/upstream/test-credential.ts'
import { createFailedOutcome, testedModel, testOutcome } from '../../../inference/upstream/test-outcome.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { slugPath } from './record.ts'

export const testProvider = defineOperation({
  id: 'testCatalogueProvider',
  method: 'POST',
  path: '/catalogue/providers/{slug}/test',
  tag: 'Catalogue',
  summary: 'Tests a provider: sends a small request with the credential of the installation.',
  description:
    'Sends a prompt of one word, for at most 16 tokens, to the cheapest text model of the provider, and says which step failed. The provider bills it to the operator; nothing is charged or recorded here, and routing does not take it into account. It takes at most about 20 seconds.',
  permission: 'catalogue:write',
  params: slugPath,
  body: z.strictObject({ model: testedModel }),
  optionalBody: true,
  rateLimit: credentialTestLimit,
  errors: [404],
  response: z.strictObject({ data: testOutcome }),
  handle: async (context) => {
    const { gateway, params, body } = context
    const provider = gateway.catalog.providers.find(({ slug }) => slug === params.slug)
    if (!provider) throw gatewayError('not_found', 'The provider does not exist.')
    const data = provider.enabled
      ? await testCredential(gateway, { provider, byokKey: null, model: body.model })
      : createFailedOutcome('credential', describeMissingCredential(provider))
    await transact(context, async (_tx, record) =>
      record({
        action: 'catalogue_provider.test',
        target: { type: 'catalogue_provider', id: provider.slug },
        details: { ok: data.ok, failed_step: data.failed_step, model: data.model },
      }),
    )
    return { data }
  },
})

function describeMissingCredential({ installation }: CatalogProvider) {
  return {
    message: installation.problem ?? 'The installation has no credential for this provider.',
    remedy: 'Set its API key here, in headgate.yaml or in the environment; or add a BYOK key in a workspace.',
  }
}
