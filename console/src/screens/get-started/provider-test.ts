import { apiUrl } from '../../api/base-url.ts'
import { client, sessionHeaders } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { describeError, describeStatus } from './provider-failure.ts'

export interface TestResult {
  ok: boolean
  text: string
}

/** Sends a request of a few tokens to the cheapest model of a provider. */
export async function testProvider(slug: string): Promise<TestResult> {
  const query = { providers: slug, output_modalities: 'text', sort: 'pricing-low-to-high', limit: 1 } as const
  const { data } = await client.GET('/models', { params: { query } })
  // The schema leaves it open, because the list is also offered as a feed.
  const model = (data as { data: { id: string }[] }).data[0]?.id
  if (!model) return { ok: false, text: 'The catalogue has no text model of this provider to test it with.' }
  const response = await fetch(`${apiUrl()}/chat/completions`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { ...sessionHeaders(), 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      provider: { only: [slug] },
      max_tokens: 16,
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  })
  const attempts = await listAttempts(response.headers.get('x-generation-id'))
  // A request whose key was refused may still be answered, with the key of the installation.
  const failed = attempts.find(({ status }) => status !== null && status >= 400)
  if (failed?.status) return { ok: false, text: describeStatus(failed.status) }
  if (response.ok) return { ok: true, text: `It works: ${model} answered.` }
  return { ok: false, text: describeError(await ApiError.from(response)) }
}

/** What the provider answered: the record of the request has it. */
async function listAttempts(generationId: string | null): Promise<{ status: number | null }[]> {
  if (!generationId) return []
  const { data } = await client.GET('/generation', { params: { query: { id: generationId } } })
  return data?.data.provider_responses ?? []
}
