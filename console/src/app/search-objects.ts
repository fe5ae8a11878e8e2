import type { SpotlightActionData } from '@mantine/spotlight'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { api } from '../api/client.ts'
import { visibleNavigation } from './navigation.ts'
import { mayDo, useSession } from './session.tsx'
import { useWorkspace } from './workspace.tsx'

export interface SearchGroup {
  group: string
  actions: SpotlightActionData[]
}

const keyHash = /^[0-9a-f]{64}$/

/** Screens; and once something is typed, the newest keys of the workspace, the workspaces, and the first members. */
export function useSearchGroups(text: string): SearchGroup[] {
  const typed = text.trim()
  const groups = [useScreens(), useKeys(typed), useWorkspaces(typed), useMembers(typed)]
  return groups.filter(({ actions }) => actions.length > 0)
}

function useScreens(): SearchGroup {
  const navigate = useNavigate()
  const items = visibleNavigation(useSession()).flatMap(({ items }) => items)
  const account = { label: 'Account', to: '/account', keywords: 'password passkey session sign in' }
  const actions = [...items, account].map(({ label, to, keywords }) => ({
    id: to,
    label,
    ...(keywords && { keywords }),
    onClick: () => void navigate({ to }),
  }))
  return { group: 'Screens', actions }
}

function useKeys(typed: string): SearchGroup {
  const navigate = useNavigate()
  const { id } = useWorkspace()
  const isAllowed = mayDo(useSession(), 'keys:read')
  const options = api.queryOptions('get', '/keys', {
    params: { query: { include_disabled: true, ...(id !== null && { workspace_id: id }) } },
  })
  const { data } = useQuery({ ...options, enabled: isAllowed && typed !== '', staleTime: 60_000 })
  const open = (hash: string) => void navigate({ to: '/keys/$hash', params: { hash } })
  const actions = (typed === '' ? [] : (data?.data ?? [])).map(({ hash, name, label }) => ({
    id: `key ${hash}`,
    label: name,
    description: label,
    keywords: hash,
    onClick: () => open(hash),
  }))
  const isListed = actions.some(({ keywords }) => keywords === typed)
  if (isAllowed && keyHash.test(typed) && !isListed) {
    const unlisted = { description: 'A key that is not among the newest', keywords: typed }
    actions.push({ id: `key ${typed}`, label: typed, ...unlisted, onClick: () => open(typed) })
  }
  return { group: 'API keys', actions }
}

function useWorkspaces(typed: string): SearchGroup {
  const { workspaces, choose } = useWorkspace()
  const actions = (typed === '' || workspaces.length < 2 ? [] : workspaces).map(({ id, name }) => ({
    id: `workspace ${id}`,
    label: name,
    description: 'Switch to this workspace',
    keywords: id,
    onClick: () => choose(id),
  }))
  return { group: 'Workspaces', actions }
}

/** Without a screen for members there is nowhere to go. */
function useMembers(typed: string): SearchGroup {
  const navigate = useNavigate()
  const session = useSession()
  const screen = visibleNavigation(session)
    .flatMap(({ items }) => items)
    .find(({ to }) => to === '/members')
  const options = api.queryOptions('get', '/organization/members', { params: { query: { limit: 100 } } })
  const isEnabled = screen !== undefined && mayDo(session, 'members:read') && typed !== ''
  const { data } = useQuery({ ...options, enabled: isEnabled, staleTime: 60_000 })
  const members = screen && typed !== '' ? (data?.data ?? []) : []
  const actions = members.map(({ id, email, first_name, last_name }) => ({
    id: `member ${id}`,
    label: [first_name, last_name].filter(Boolean).join(' ') || email || id,
    description: email,
    keywords: id,
    onClick: () => void navigate({ to: screen?.to ?? '/' }),
  }))
  return { group: 'Members', actions }
}
