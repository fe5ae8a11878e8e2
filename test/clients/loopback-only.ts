/** Libraries fetch updates and metadata unasked; no test may reach another machine. */
const realFetch = globalThis.fetch
globalThis.fetch = Object.assign(
  async (...[input, init]: Parameters<typeof fetch>) => {
    const { hostname } = new URL(input instanceof Request ? input.url : String(input))
    if (hostname !== '127.0.0.1' && hostname !== 'localhost')
      throw new TypeError(`not on loopback: ${hostname}`)
    return realFetch(input, init)
  },
  { preconnect: realFetch.preconnect },
)
