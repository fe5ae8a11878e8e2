import type { Permission } from './session.tsx'

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
    items: [{ label: 'Get started', to: '/', keywords: 'quickstart setup checklist snippet' }],
  },
  {
    label: 'Access',
    items: [{ label: 'API keys', to: '/keys', permission: 'keys:read', keywords: 'secret limit rotate' }],
  },
]
