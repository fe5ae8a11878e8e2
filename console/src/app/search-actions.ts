import { type NavigationItem, visibleNavigation } from './navigation.ts'
import { mayDo, mayDoEverywhere, type Permission, type Session } from './session.tsx'

export interface SearchAction {
  label: string
  /** The screen whose dialog it opens, and the name of that dialog. */
  to: string
  action: string
  permission: Permission
  /** Whether the permission must be for the whole organization. */
  isForOrganization?: boolean
  search?: Record<string, string>
  keywords?: string
}

const actions: SearchAction[] = [
  {
    label: 'Create API key',
    to: '/keys',
    action: 'create',
    permission: 'keys:write',
    keywords: 'new secret',
  },
  {
    ...{ label: 'Add provider', to: '/providers', action: 'add', permission: 'catalogue:write' },
    ...{ isForOrganization: true, keywords: 'new server vllm ollama' },
  },
  {
    ...{ label: 'Create limit', to: '/limits', action: 'create', permission: 'budgets:write' },
    keywords: 'new rate quota raise',
  },
  {
    ...{ label: 'Create tier', to: '/limits', action: 'create-tier', permission: 'budgets:write' },
    ...{ isForOrganization: true, search: { tab: 'tiers' }, keywords: 'new limits' },
  },
  {
    ...{ label: 'Invite member', to: '/members', action: 'invite', permission: 'members:write' },
    ...{ isForOrganization: true, keywords: 'add person user colleague' },
  },
  {
    ...{ label: 'Create workspace', to: '/workspaces', action: 'create', permission: 'workspaces:write' },
    ...{ isForOrganization: true, keywords: 'new team project' },
  },
  {
    ...{ label: 'Create guardrail', to: '/guardrails', action: 'create', permission: 'guardrails:write' },
    keywords: 'new filter policy',
  },
  {
    ...{ label: 'Create preset', to: '/presets', action: 'create', permission: 'presets:write' },
    keywords: 'new prompt',
  },
  {
    ...{ label: 'Create alias', to: '/aliases', action: 'create', permission: 'model_aliases:write' },
    keywords: 'new model name split',
  },
  {
    ...{ label: 'Create routing rule', to: '/routing/rules', action: 'create' },
    ...{ permission: 'routing_rules:write', keywords: 'new condition' },
  },
  {
    ...{ label: 'Create role', to: '/roles', action: 'create', permission: 'roles:write' },
    ...{ isForOrganization: true, keywords: 'new permissions' },
  },
  {
    ...{ label: 'Add destination', to: '/observability', action: 'add', permission: 'destinations:write' },
    keywords: 'new trace export webhook',
  },
  {
    ...{ label: 'Add notification rule', to: '/notifications', action: 'add' },
    ...{ permission: 'notifications:write', keywords: 'new alert e-mail' },
  },
  {
    ...{ label: 'Add credits', to: '/credits', action: 'add', permission: 'credits:write' },
    ...{ isForOrganization: true, keywords: 'grant money balance' },
  },
  { label: 'Upload file', to: '/files', action: 'upload', permission: 'files:write', keywords: 'new' },
]

/** The actions that the person may do. */
export function visibleActions(session: Session): SearchAction[] {
  const screens = visibleNavigation(session).flatMap(({ items }) => items)
  return actions.filter(
    ({ to, permission, isForOrganization }) =>
      screens.some((screen) => isOn(screen, to)) &&
      (isForOrganization ? mayDoEverywhere : mayDo)(session, permission),
  )
}

function isOn({ to }: NavigationItem, path: string): boolean {
  return path === to || path.startsWith(`${to}/`)
}
