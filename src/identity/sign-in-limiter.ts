import type { Cluster } from '../cluster/cluster.ts'
import { AttemptLimiter } from '../platform/concurrency/attempt-limiter.ts'
import { sha256 } from '../platform/crypto/crypto.ts'
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

/** The message to other nodes. */
interface SharedAttempt {
  names: AttemptNames
  /** Null if it has succeeded. */
  at: number | null
}

interface AttemptNames {
  site: string
  client: string
  /** A hash: it contains the name of a person. */
  clientAndName: string
}

const channel = 'sign-in'
const freePerName = 5
const freePerClient = 20
const freePerSite = 100

/**
 * Slows down guessing: for each client and name together, for each client, and for each site, which has many networks
 * of IPv6. There is no limit for a name alone, with which a stranger could keep a member from signing in. Attempts on
 * other nodes count from when they are received.
 */
export class SignInLimiter {
  readonly #names = new AttemptLimiter(freePerName)
  readonly #clients = new AttemptLimiter(freePerClient)
  readonly #sites = new AttemptLimiter(freePerSite)
  readonly #cluster: Pick<Cluster, 'publish' | 'subscribe'>

  constructor(cluster: Pick<Cluster, 'publish' | 'subscribe'>) {
    this.#cluster = cluster
    cluster.subscribe(channel, (message) => this.#apply(JSON.parse(message)))
  }

  /** Counts an attempt, before its result is known, so that concurrent ones count too. Throws if it is too early. */
  begin(attempt: SignInAttempt, now: number): void {
    const names = namesOf(attempt)
    const { site, client, clientAndName } = names
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
    this.#share({ names, at: now })
  }

  /** The attempt that began was successful. */
  succeed(attempt: SignInAttempt): void {
    this.#share({ names: namesOf(attempt), at: null })
  }

  #share(attempt: SharedAttempt): void {
    this.#apply(attempt)
    this.#cluster.publish(channel, JSON.stringify(attempt))
  }

  #apply({ names: { site, client, clientAndName }, at }: SharedAttempt): void {
    if (at === null) {
      this.#sites.uncount(site)
      this.#clients.uncount(client)
      this.#names.forget(clientAndName)
    } else {
      this.#sites.count(site, at)
      this.#clients.count(client, at)
      this.#names.count(clientAndName, at)
    }
  }
}

function namesOf({ kind, ip, name }: SignInAttempt): AttemptNames {
  const client = `${kind} ${networkOf(ip ?? '')}`
  const site = `${kind} ${networkOf(ip ?? '', 'site')}`
  return { site, client, clientAndName: sha256(`${client} ${name.slice(0, 300)}`) }
}
