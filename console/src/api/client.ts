import createFetchClient, { type Middleware } from 'openapi-fetch'
import createQueryClient from 'openapi-react-query'
import { apiUrl } from './base-url.ts'
import { ApiError } from './error.ts'
import type { components, paths } from './schema.ts'

export type Schemas = components['schemas']

let csrfToken = ''

export function setCsrfToken(token: string): void {
  csrfToken = token
}

let workspaceId: string | null = null

/** The workspace of requests that name none. Null: lists have all workspaces, models are used in the default one. */
export function setRequestWorkspace(id: string | null): void {
  workspaceId = id
}

/** Headers of a request that changes something, or that a model answers. */
export function sessionHeaders(): Record<string, string> {
  return { 'x-csrf-token': csrfToken, 'x-headgate-workspace': workspaceId ?? 'all' }
}

/** The call that says whether the chosen workspace still exists, so it does not name the workspace. */
const sessionPath = '/session'

const session: Middleware = {
  onRequest({ request, schemaPath }) {
    if (schemaPath === sessionPath) return
    for (const [name, value] of Object.entries(sessionHeaders())) request.headers.set(name, value)
  },
  async onResponse({ response }) {
    if (!response.ok) throw await ApiError.from(response)
  },
}

/** The client outside of components: `await client.POST('/keys', { body })`. A failed call throws an ApiError. */
export const client = createFetchClient<paths>({ baseUrl: apiUrl(), credentials: 'same-origin' })
client.use(session)

/** The client in components: `useQuery(api.queryOptions('get', '/keys'))` and `api.useMutation('post', '/keys')`. */
export const api = createQueryClient(client)
