import type { TestServer } from './harness.ts'

/** A minimal browser: keeps cookies, follows no redirects. */
export class Browser {
  readonly #server: Pick<TestServer, 'url'>
  readonly #headers: Record<string, string>
  readonly cookies = new Map<string, string>()

  constructor(server: Pick<TestServer, 'url'>, headers: Record<string, string> = {}) {
    this.#server = server
    this.#headers = headers
  }

  open(path: string) {
    return this.#send(path, { method: 'GET' })
  }

  submit(path: string, form: Record<string, string>) {
    return this.#send(path, { method: 'POST', body: new URLSearchParams(form) })
  }

  post(path: string, body: unknown) {
    const headers = { 'content-type': 'application/json' }
    return this.#send(path, { method: 'POST', body: JSON.stringify(body), headers })
  }

  get isSignedIn(): boolean {
    return Boolean(this.cookies.get('headgate_session'))
  }

  async #send(path: string, init: RequestInit) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(this.#server.url + path, {
      ...init,
      redirect: 'manual',
      headers: { ...this.#headers, ...(cookie && { cookie }), ...(init.headers as Record<string, string>) },
    })
    for (const header of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? []
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    const text = await response.text()
    return {
      status: response.status,
      text,
      headers: response.headers,
      location: response.headers.get('location'),
    }
  }
}

export function inputOf(html: string, name: string): string {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? ''
}
