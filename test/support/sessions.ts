import { createSessionCsrfToken } from '../../src/access/session.ts'
import { createSignInToken } from '../../src/identity/sessions.ts'
import type { TestServer } from './harness.ts'

type Served = Pick<TestServer, 'url' | 'gateway'>

/** Signs in with the token of a link. Returns the token of the session; undefined if the link is refused. */
export async function useSignInLink({ url }: Served, token: string): Promise<string | undefined> {
  const response = await fetch(`${url}/signin`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ token }),
  })
  await response.text()
  const cookies = response.headers.getSetCookie().join('\n')
  return /headgate_session=([\w-]+);/.exec(cookies)?.[1]
}

/** The headers of requests in a new session of the member. */
export async function createSessionHeaders(
  server: Served,
  member: { id: string },
): Promise<{ cookie: string; 'x-csrf-token': string }> {
  const { gateway } = server
  const link = await createSignInToken(gateway.db, gateway.clock, member.id)
  const token = (await useSignInLink(server, link)) ?? ''
  return headersOf(server, token)
}

export function headersOf({ gateway }: Pick<Served, 'gateway'>, token: string) {
  return {
    cookie: `headgate_session=${token}`,
    'x-csrf-token': createSessionCsrfToken(gateway, token),
  }
}
