import { Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import type { Call } from '../api/call.ts'
import { ApiCalls } from './api-call.tsx'
import { DocsLink } from './docs-link.tsx'
import { type Scope, ScopeBadge } from './workspace-scope.tsx'

interface PageProps {
  title: string
  /** One sentence for somebody who sees the screen for the first time. */
  description?: ReactNode
  /** The scope; if absent, the screen is about the organization. */
  scope?: Scope
  /** The page of the documentation, with a heading or without. */
  docs?: string
  /** The calls that the screen makes. */
  calls?: Call[]
  actions?: ReactNode
  children: ReactNode
}

/** The frame of every screen. */
export function Page({ title, description, scope, docs, calls = [], actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Headgate`
  }, [title])
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div style={{ flex: '1 1 260px', minWidth: 0 }}>
          <Group gap="xs">
            <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
              {title}
            </Title>
            {scope && <ScopeBadge scope={scope} />}
          </Group>
          {description && (
            <Text c="dimmed" size="sm" maw={640} mt={4}>
              {description}
            </Text>
          )}
        </div>
        <Group gap="xs">
          {actions}
          {docs && <DocsLink page={docs} />}
          {calls.length > 0 && <ApiCalls calls={calls} />}
        </Group>
      </Group>
      {children}
    </Stack>
  )
}
