/** The parts of the package that the tests use; it has no types of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }

  interface Context {
    oidc: {
      provider: { Grant: new (owner: { clientId: string; accountId: string }) => Grant }
      client?: { clientId: string }
      session?: { accountId?: string }
    }
  }

  export interface Configuration {
    clients: object[]
    jwks: { keys: object[] }
    cookies: { keys: string[] }
    claims: Record<string, string[]>
    scopes: string[]
    pkce: { required: () => boolean }
    features: Record<string, { enabled: boolean }>
    findAccount: (context: unknown, id: string) => object
    loadExistingGrant: (context: Context) => Promise<Grant>
  }

  export class Provider {
    constructor(issuer: string, configuration: Configuration)
    use(middleware: (context: { body?: unknown }, next: () => Promise<void>) => Promise<void>): void
    callback(): (request: IncomingMessage, response: ServerResponse) => void
  }
}
