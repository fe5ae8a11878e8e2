/** A fragment is not sent to the server, so the browser keeps it while the person signs in. */
const storageName = 'headgate-fragment'
/** Milliseconds that the server remembers the rest of the address. */
const maxAgeMs = 600_000

interface SavedFragment {
  /** The address without its fragment. */
  address: string
  fragment: string
  savedAt: number
}

/** Opens the sign-in page, which leads back here. */
export function goToSignIn(): void {
  const base = new URL(document.baseURI).pathname
  const { pathname, search, hash } = location
  if (hash.length > 1) saveFragment({ address: pathname + search, fragment: hash, savedAt: Date.now() })
  const here = `/${pathname.slice(base.length)}${search}`
  location.assign(new URL(`signin?return_to=${encodeURIComponent(here)}`, document.baseURI))
}

/** Restores the fragment after the sign-in; called before the address is read. */
export function restoreFragment(): void {
  const saved = readFragment()
  if (!saved) return
  const { pathname, search, hash } = location
  const isHere = saved.address === pathname + search && hash === ''
  const isOld = !(Math.abs(Date.now() - saved.savedAt) < maxAgeMs)
  if (isHere || isOld) localStorage.removeItem(storageName)
  if (isHere && !isOld) history.replaceState(history.state, '', `${pathname}${search}${saved.fragment}`)
}

function saveFragment(saved: SavedFragment): void {
  try {
    localStorage.setItem(storageName, JSON.stringify(saved))
  } catch {
    // The storage is full or forbidden: the person lands on the screen without it.
  }
}

function readFragment(): SavedFragment | null {
  try {
    const saved: SavedFragment | null = JSON.parse(localStorage.getItem(storageName) ?? 'null')
    return saved?.fragment.startsWith('#') ? saved : null
  } catch {
    return null
  }
}
