import { type ParsedLocation, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { addPlace, parsePlaces, type RecentPlace } from './recent-list.ts'
import { useSession } from './session.tsx'

/** Each person has their own: a browser may be shared. */
function storageKeyOf(memberId: string): string {
  return `headgate-recent-${memberId}`
}

export function readRecentPlaces(memberId: string): RecentPlace[] {
  return parsePlaces(localStorage.getItem(storageKeyOf(memberId)))
}

export function forgetRecentPlaces(memberId: string): void {
  localStorage.removeItem(storageKeyOf(memberId))
}

/** Remembers each place when it is left: only then its title is complete. */
export function useRecordedPlaces(): void {
  const router = useRouter()
  const { id } = useSession().member
  useEffect(() => {
    const record = ({ pathname, publicHref }: ParsedLocation) => {
      // Home is on top of the menu.
      if (pathname === '/') return
      const title = document.title.replace(/ · Headgate$/, '')
      const href = publicHref.split('#')[0] ?? publicHref
      const places = addPlace(readRecentPlaces(id), { title, href })
      localStorage.setItem(storageKeyOf(id), JSON.stringify(places))
    }
    return router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
      if (fromLocation && pathChanged) record(fromLocation)
    })
  }, [router, id])
}
