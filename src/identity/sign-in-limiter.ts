import { AttemptLimiter } from '../platform/concurrency/attempt-limiter.ts'
import { GatewayError } from '../platform/errors/gateway-error.ts'
import { networkOf } from '../platform/http/client-network.ts'

/** The source of a sign-in attempt, and the name it is for. */
export interface SignInAttempt {
  /** Counted separately. */
  kind: 'password' | 'code' | 'passkey' | 'mail'
  ip: string | null
  /** Name that the client entered, whether or not it exists. */
  name: string
}

const freePerName = 5
const freePerClient = 20
const freePerSite = 100

/**
 * Slows down guessing: for each client and name together, for each client, and for each site, which has many networks
 * of IPv6. There is no limit for a name alone, with which a stranger could keep a member from signing in.
 */
export class SignInLimiter {
  readonly #names = new AttemptLimiter(freePerName)
  readonly #clients = new AttemptLimiter(freePerClient)
  readonly #sites = new AttemptLimiter(freePerSite)

  /** Counts an attempt, before its result is known, so that concurrent ones count too. Throws if it is too early. */
  begin(attempt: SignInAttempt, now: number): void {
    const { site, client, clientAndName } = namesOf(attempt)
    const waitMs = Math.max(
      this.#sites.waitMs(site, now),
      this.#clients.waitMs(client, now),
      this.#names.waitMs(clientAndName, now),
    )
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000)
      const message = `Too many attempts. Try again in ${seconds} seconds.`
      throw new GatewayError('rate_limited', { message, headers: { 'retry-after': String(seconds) } })
    }
    this.#sites.count(site, now)
    this.#clients.count(client, now)
    this.#names.count(clientAndName, now)
  }

  /** The attempt that began was successful. */
  succeed(attempt: SignInAttempt): void {
    const { site, client, clientAndName } = namesOf(attempt)
    this.#sites.uncount(site)
    this.#clients.uncount(client)
    this.#names.forget(clientAndName)
  }
}

function namesOf({ kind, ip, name }: SignInAttempt) {
  const client = `${kind} ${networkOf(ip ?? '')}`
  const site = `${kind} ${networkOf(ip ?? '', 'site')}`
  return { site, client, clientAndName: `${client} ${name.slice(0, 300)}` }
}
