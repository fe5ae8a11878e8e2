import type { SpotlightActionData } from '@mantine/spotlight'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useRouter } from '@tanstack/react-router'
import { api, type Schemas } from '../api/client.ts'
import { findById } from './find-by-id.ts'
import { innerScreens, mayOpen, visibleNavigation } from './navigation.ts'
import { pathOf } from './recent-list.ts'
import { readRecentPlaces } from './recent-places.ts'
import { visibleActions } from './search-actions.ts'
import { useSession } from './session.tsx'

export interface SearchGroup {
  group: string
  actions: SpotlightActionData[]
}

type Found = Schemas['SearchResult']

interface FoundKind {
  group: string
  /** Objects of a kind whose screen somebody may not open are not offered. */
  screen: string
  /** The address below the screen; by default the id. */
  pathOf?: (found: Found) => string
}

const kinds: Record<Found['kind'], FoundKind> = {
  key: { group: 'API keys', screen: '/keys' },
  workspace: { group: 'Workspaces', screen: '/workspaces' },
  member: { group: 'Members', screen: '/members' },
  guardrail: { group: 'Guardrails', screen: '/guardrails' },
  preset: { group: 'Presets', screen: '/presets' },
  destination: { group: 'Destinations', screen: '/observability' },
  // The description of a key begins with its provider.
  byok_key: {
    group: 'Provider keys',
    screen: '/providers',
    pathOf: ({ description }) => `/${description?.split(' ')[0] ?? ''}`,
  },
  model: { group: 'Models', screen: '/models', pathOf: ({ id }) => `/${encodeURI(id)}` },
}

/**
 * Recent places, actions and screens; and once something is typed, the record with this id and the objects whose name
 * or id contains it.
 */
export function useSearchGroups(text: string): SearchGroup[] {
  const typed = text.trim()
  const groups = [useRecord(typed), useRecent(), useActions(), useScreens(), ...useObjects(typed)]
  return groups.filter(({ actions }) => actions.length > 0)
}

function useRecord(typed: string): SearchGroup {
  const navigate = useNavigate()
  const session = useSession()
  const { data = [] } = useQuery({
    queryKey: ['record by id', typed],
    queryFn: ({ signal }) => findById(session, typed, signal),
    enabled: typed !== '',
  })
  const actions = data.map(({ kind, name, to, search }) => ({
    id: `record ${kind}`,
    label: name,
    description: kind,
    // It is found by an id that it may not show.
    keywords: [typed],
    onClick: () => void navigate({ to, ...(search && { search }) }),
  }))
  return { group: 'Records with this ID', actions }
}

function useRecent(): SearchGroup {
  const router = useRouter()
  const { member } = useSession()
  const places = readRecentPlaces(member.id)
  const here = router.history.location.pathname
  const actions = places
    .filter(({ href }) => pathOf(href) !== here)
    .map(({ title, href }) => ({
      id: `recent ${href}`,
      label: title,
      description: pathOf(href),
      onClick: () => router.history.push(href),
    }))
  return { group: 'Recent', actions }
}

function useActions(): SearchGroup {
  const navigate = useNavigate()
  const actions = visibleActions(useSession()).map(({ label, to, action, search, keywords }) => ({
    id: `action ${to} ${action}`,
    label,
    ...(keywords && { keywords }),
    onClick: () => void navigate({ to, hash: action, ...(search && { search }) }),
  }))
  return { group: 'Actions', actions }
}

function useScreens(): SearchGroup {
  const navigate = useNavigate()
  const session = useSession()
  const items = visibleNavigation(session).flatMap(({ items }) => items)
  const inner = innerScreens.filter((screen) => mayOpen(session, screen))
  const account = { label: 'Account', to: '/account', keywords: 'password passkey session sign in' }
  const actions = [...items, ...inner, account].map(({ label, to, keywords }) => ({
    id: to,
    label,
    ...(keywords && { keywords }),
    onClick: () => void navigate({ to }),
  }))
  return { group: 'Screens', actions }
}

function useObjects(typed: string): SearchGroup[] {
  const navigate = useNavigate()
  const screens = new Set(visibleNavigation(useSession()).flatMap(({ items }) => items.map(({ to }) => to)))
  const options = api.queryOptions('get', '/search', { params: { query: { q: typed } } })
  const { data } = useQuery({ ...options, enabled: typed !== '', placeholderData: keepPreviousData })
  const found = typed === '' ? [] : (data?.data ?? [])
  return Object.entries(kinds).map(([kind, { group, screen, pathOf = pathOfId }]) => ({
    group,
    actions: (screens.has(screen) ? found : [])
      .filter((object) => object.kind === kind)
      .map((object) => ({
        id: `${kind} ${object.id}`,
        label: object.name,
        ...(object.description && { description: object.description }),
        // The server decides what matches.
        keywords: [typed, object.id],
        onClick: () => void navigate({ to: screen + pathOf(object) }),
      })),
  }))
}

function pathOfId({ id }: Found): string {
  return `/${encodeURIComponent(id)}`
}
