import { mayDo, type Permission, type Session } from './session.tsx'

export interface NavigationItem {
  label: string
  to: string
  /** Hidden from those who lack it; shown to all without one. */
  permission?: Permission
  /** Further words to find it by. */
  keywords?: string
}

export interface NavigationGroup {
  label: string
  items: NavigationItem[]
}

/** The screens, in order of use. */
export const navigation: NavigationGroup[] = [
  {
    label: 'Start',
    items: [
      { label: 'Get started', to: '/', keywords: 'quickstart setup checklist snippet' },
      {
        label: 'Playground',
        to: '/playground',
        permission: 'inference:write',
        keywords: 'chat try compare prompt quote',
      },
      { label: 'Models', to: '/catalogue', permission: 'models:read', keywords: 'price context endpoints' },
      {
        label: 'Aliases',
        to: '/aliases',
        permission: 'model_aliases:read',
        keywords: 'model name group split weight canary ab test expiration replacement',
      },
      {
        label: 'Providers',
        to: '/providers',
        permission: 'byok:read',
        keywords: 'byok credential health test cooling down',
      },
      { label: 'API reference', to: '/reference', keywords: 'docs operations openapi schema curl try' },
    ],
  },
  {
    label: 'Usage',
    items: [
      {
        label: 'Requests',
        to: '/requests',
        permission: 'generations:read',
        keywords: 'log generations history errors refused live tail',
      },
      {
        label: 'Activity',
        to: '/activity',
        permission: 'activity:read',
        keywords: 'spend cost tokens errors latency analytics usage chart csv',
      },
      {
        label: 'Credits',
        to: '/credits',
        permission: 'credits:read',
        keywords: 'balance grant purchase money ledger entries check',
      },
      {
        label: 'Budgets',
        to: '/budgets',
        permission: 'budgets:read',
        keywords: 'limit spending forecast workspace member key block',
      },
      {
        label: 'Limits',
        to: '/limits',
        permission: 'budgets:read',
        keywords: 'rate quota requests tokens concurrent tier end user tag model provider window',
      },
      {
        label: 'Files and media',
        to: '/files',
        permission: 'files:read',
        keywords: 'upload download video image audio speech job container preview',
      },
    ],
  },
  {
    label: 'Access',
    items: [
      { label: 'API keys', to: '/keys', permission: 'keys:read', keywords: 'secret limit rotate' },
      {
        label: 'Workspaces',
        to: '/workspaces',
        permission: 'workspaces:read',
        keywords: 'team project budget',
      },
      { label: 'Members', to: '/members', permission: 'members:read', keywords: 'people invite users' },
      { label: 'Roles', to: '/roles', permission: 'roles:read', keywords: 'permissions access' },
      {
        label: 'Identity',
        to: '/identity',
        permission: 'sso:read',
        keywords: 'sso single sign-on oidc okta entra scim provisioning domain workload issuer',
      },
    ],
  },
  {
    label: 'Control',
    items: [
      {
        label: 'Presets',
        to: '/presets',
        permission: 'presets:read',
        keywords: 'prompt version template system model',
      },
      {
        label: 'Routing',
        to: '/routing',
        permission: 'inference:write',
        keywords: 'dry run endpoint provider order fallback quote price which',
      },
      {
        label: 'Guardrails',
        to: '/guardrails',
        permission: 'guardrails:read',
        keywords: 'filter redact block personal data',
      },
      {
        label: 'Observability',
        to: '/destinations',
        permission: 'destinations:read',
        keywords: 'destination trace opentelemetry otlp webhook export langfuse datadog',
      },
      {
        label: 'Notifications',
        to: '/notifications',
        permission: 'notifications:read',
        keywords: 'rule alert e-mail webhook threshold',
      },
      {
        label: 'Audit log',
        to: '/audit',
        permission: 'audit:read',
        keywords: 'history changes who siem syslog ocsf destination',
      },
      {
        label: 'Organization',
        to: '/settings',
        permission: 'privacy:read',
        keywords: 'settings privacy lock zero data retention training plugins',
      },
      {
        label: 'System',
        to: '/system',
        permission: 'system:read',
        keywords: 'version storage queues overhead configuration backup health',
      },
    ],
  },
]

/** The screens that the person may open. */
export function visibleNavigation(session: Session): NavigationGroup[] {
  return navigation
    .map((group) => ({
      ...group,
      items: group.items.filter(({ permission }) => !permission || mayDo(session, permission)),
    }))
    .filter(({ items }) => items.length > 0)
}

/** The screen at this path, or the one that leads to it. */
export function findNavigationItem(pathname: string): NavigationItem | undefined {
  return navigation
    .flatMap(({ items }) => items)
    .find(({ to }) => pathname === to || (to !== '/' && pathname.startsWith(`${to}/`)))
}

/** Screens that need another permission than the one that leads to them. */
export const innerScreens: NavigationItem[] = [
  { label: 'Edits of the catalog', to: '/catalogue/edits', permission: 'catalogue:read' },
]
