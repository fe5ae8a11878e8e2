import type { Schemas } from '../../api/client.ts'

type Status = Schemas['ObservabilityDeliveryStatus']
type State = Status['state']

export const stateTexts: Record<State, { label: string; color: string }> = {
  active: { label: 'active', color: 'teal' },
  paused: { label: 'paused', color: 'gray' },
  failing: { label: 'failing', color: 'red' },
  disabled: { label: 'disabled', color: 'gray' },
  held_back: { label: 'secrets needed', color: 'orange' },
}

/** The remedy for an error of a destination; null where the error contains it. */
export function findRemedy(error: string): string | null {
  const status = Number(/status (\d{3})/.exec(error)?.[1])
  if (status === 401 || status === 403)
    return 'The destination does not accept the credentials. Enter them again below, and check that they may write.'
  if (status === 404) return 'Page not found. Check the address, and the names in the settings.'
  if (status === 400 || status === 413 || status === 422)
    return 'The destination does not accept what was sent. Check the settings; the failures below can be sent again.'
  if (status === 410) return 'The destination says that it is gone. Enable it below once it is back.'
  if (status === 429)
    return 'The destination limits the rate. It is retried by itself; a lower share of requests helps.'
  if (status >= 500) return 'The destination has a problem of its own. It is retried by itself.'
  if (/redirect/.test(error)) return 'Enter the address that it redirects to.'
  if (/resolved/.test(error)) return 'Check the spelling of the host name.'
  if (/could not be reached|in time/.test(error))
    return 'Check the address and the port, and whether a firewall is between. It is retried by itself.'
  if (/certificate/.test(error)) return 'Use an address whose certificate a public authority has signed.'
  return null
}
