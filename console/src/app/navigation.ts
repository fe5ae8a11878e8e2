import type { IconName } from '../theme/icon-shapes.ts'
import { mayDo, mayDoEverywhere, type Permission, type Session } from './session.tsx'

export interface NavigationItem {
  label: string
  to: string
  icon: IconName
  /** Hidden from those who lack it; shown to all without one. */
  permission?: Permission
  /** Whether the permission must be for the whole organization. */
  isForOrganization?: boolean
  /** Paths of further screens that belong to it. */
  includes?: string
  /** Further words to find it by. */
  keywords?: string
  /** Whether the header has a button for it, where it is wide enough. */
  isInHeader?: boolean
}

export interface NavigationGroup {
  label: string
  items: NavigationItem[]
}

/** The screens, in order of use. */
export const navigation: NavigationGroup[] = [
  {
    label: 'Build',
    items: [
      { label: 'Home', to: '/', icon: 'home', keywords: 'get started quickstart setup checklist snippet' },
      {
        label: 'Playground',
        to: '/playground',
        icon: 'playground',
        permission: 'inference:write',
        includes: '/comparisons',
        keywords: 'chat try compare prompt quote matrix vote blind',
      },
      {
        label: 'API keys',
        to: '/keys',
        icon: 'keys',
        permission: 'keys:read',
        includes: '/import',
        keywords: 'secret limit rotate',
      },
      {
        label: 'Presets',
        to: '/presets',
        icon: 'presets',
        permission: 'presets:read',
        keywords: 'prompt version template system model',
      },
      {
        label: 'Files and media',
        to: '/files',
        icon: 'files',
        permission: 'files:read',
        keywords: 'upload download video image audio speech job container preview',
      },
      {
        label: 'API reference',
        to: '/reference',
        icon: 'reference',
        keywords: 'docs operations openapi schema curl try',
        isInHeader: true,
      },
    ],
  },
  {
    label: 'Models',
    items: [
      {
        label: 'Models',
        to: '/models',
        icon: 'models',
        permission: 'models:read',
        keywords: 'catalog price context endpoints',
      },
      {
        label: 'Aliases',
        to: '/aliases',
        icon: 'aliases',
        permission: 'model_aliases:read',
        keywords: 'model name group split weight canary ab test expiration replacement',
      },
      {
        label: 'Providers',
        to: '/providers',
        icon: 'providers',
        permission: 'byok:read',
        keywords: 'byok credential health test cooling down',
      },
      {
        label: 'Routing',
        to: '/routing',
        icon: 'routing',
        permission: 'inference:write',
        includes: '/shadows',
        keywords: 'simulate dry run endpoint provider order fallback quote price which',
      },
      {
        label: 'Guardrails',
        to: '/guardrails',
        icon: 'guardrails',
        permission: 'guardrails:read',
        keywords: 'filter redact block personal data',
      },
    ],
  },
  {
    label: 'Monitor',
    items: [
      {
        label: 'Requests',
        to: '/requests',
        icon: 'requests',
        permission: 'generations:read',
        includes: '/sessions',
        keywords: 'log generations history errors rejected refused live tail',
      },
      {
        label: 'Activity',
        to: '/activity',
        icon: 'activity',
        permission: 'activity:read',
        keywords: 'spend cost tokens errors latency analytics usage chart csv',
      },
      {
        label: 'End users',
        to: '/end-users',
        icon: 'person',
        permission: 'activity:read',
        isForOrganization: true,
        keywords: 'customer person spending block erase gdpr session',
      },
      {
        label: 'Observability',
        to: '/observability',
        icon: 'observability',
        permission: 'destinations:read',
        keywords: 'destination trace opentelemetry otlp webhook export langfuse datadog',
      },
      {
        label: 'Notifications',
        to: '/notifications',
        icon: 'notifications',
        permission: 'notifications:read',
        keywords: 'rule alert e-mail webhook threshold',
      },
      {
        label: 'Audit log',
        to: '/audit',
        icon: 'audit',
        permission: 'audit:read',
        keywords: 'history changes who siem syslog ocsf destination',
      },
    ],
  },
  {
    label: 'Spend',
    items: [
      {
        label: 'Credits',
        to: '/credits',
        icon: 'credits',
        permission: 'credits:read',
        keywords: 'balance grant purchase money ledger entries check',
      },
      {
        label: 'Budgets',
        to: '/budgets',
        icon: 'budgets',
        permission: 'budgets:read',
        keywords: 'limit spending forecast workspace member key block',
      },
      {
        label: 'Limits',
        to: '/limits',
        icon: 'limits',
        permission: 'budgets:read',
        keywords: 'rate quota requests tokens concurrent tier end user tag model provider window',
      },
    ],
  },
  {
    label: 'Organization',
    items: [
      {
        label: 'Workspaces',
        to: '/workspaces',
        icon: 'workspaces',
        permission: 'workspaces:read',
        keywords: 'team project budget',
      },
      {
        label: 'Members',
        to: '/members',
        icon: 'members',
        permission: 'members:read',
        keywords: 'people invite users',
      },
      {
        label: 'Roles',
        to: '/roles',
        icon: 'roles',
        permission: 'roles:read',
        keywords: 'permissions access',
      },
      {
        label: 'Identity',
        to: '/identity',
        icon: 'identity',
        permission: 'sso:read',
        keywords: 'sso single sign-on oidc okta entra scim provisioning domain workload issuer',
      },
      {
        label: 'Organization',
        to: '/organization',
        icon: 'organization',
        permission: 'privacy:read',
        keywords: 'settings privacy lock zero data retention training plugins',
      },
      {
        label: 'System',
        to: '/system',
        icon: 'system',
        permission: 'system:read',
        keywords: 'version storage queues overhead configuration backup health',
      },
    ],
  },
]

export function mayOpen(
  session: Session,
  { permission, isForOrganization }: Pick<NavigationItem, 'permission' | 'isForOrganization'>,
): boolean {
  if (!permission) return true
  return isForOrganization ? mayDoEverywhere(session, permission) : mayDo(session, permission)
}

/** The screens that the person may open. */
export function visibleNavigation(session: Session): NavigationGroup[] {
  return navigation
    .map((group) => ({
      ...group,
      items: group.items.filter((item) => mayOpen(session, item)),
    }))
    .filter(({ items }) => items.length > 0)
}

/** The screen at this path, or the one that leads to it. */
export function findNavigationItem(pathname: string): NavigationItem | undefined {
  return navigation
    .flatMap(({ items }) => items)
    .find(({ to, includes = to }) =>
      [to, includes].some((path) => pathname === path || (path !== '/' && pathname.startsWith(`${path}/`))),
    )
}

/** Screens that others lead to, and the search, with the permission that they need. */
export const innerScreens: Omit<NavigationItem, 'icon'>[] = [
  { label: 'New comparison', to: '/comparisons/new', permission: 'inference:write' },
  { label: 'Comparisons', to: '/comparisons', permission: 'comparisons:read' },
  { label: 'Catalog changes', to: '/models/changes', permission: 'catalogue:read' },
  { label: 'Routing rules', to: '/routing/rules', permission: 'routing_rules:read' },
  {
    label: 'Shadow mode',
    to: '/shadows',
    permission: 'shadows:read',
    keywords: 'mirror migrate',
  },
  {
    label: 'Import',
    to: '/import',
    permission: 'keys:write',
    isForOrganization: true,
    keywords: 'migrate litellm bifrost portkey csv',
  },
]
