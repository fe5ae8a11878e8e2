import { Anchor, Badge, Code, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { createLazyRoute, Navigate } from '@tanstack/react-router'
import { apiUrl } from '../../api/base-url.ts'
import { type Session, useOptionalSession } from '../../app/session.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { SearchIcon } from '../../components/icons.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { findRefusal } from './access.ts'
import { findByCall, groupByTag, type Operation, searchOperations } from './document.ts'
import { openApiUrl, useDocument } from './use-document.ts'

export const screen = createLazyRoute('/reference')({ component: ReferenceScreen })

function ReferenceScreen() {
  const { q = '', call } = screen.useSearch()
  const navigate = screen.useNavigate()
  const session = useOptionalSession()
  const { query, operations } = useDocument()
  const called = call === undefined ? undefined : findByCall(operations, call)
  if (called) return <Navigate to="/reference/$operation" params={{ operation: called.id }} replace />
  return (
    <Page
      title="API reference"
      docs="http"
      description={
        <>
          Every operation, with a form to try it. The base URL is <Code>{apiUrl()}</Code>. For programs:{' '}
          <Anchor href={openApiUrl()} underline="always">
            openapi.json
          </Anchor>
        </>
      }
    >
      <TextInput
        label="Search"
        description="Path, description, parameter or field"
        leftSection={<SearchIcon />}
        value={q}
        onChange={({ currentTarget: { value } }) =>
          void navigate({ search: value === '' ? {} : { q: value }, replace: true })
        }
      />
      <QueryView query={query}>
        {() => (
          <OperationGroups
            operations={searchOperations(operations, q)}
            session={session}
            isOpen={q.trim() !== ''}
          />
        )}
      </QueryView>
    </Page>
  )
}

interface OperationGroupsProps {
  operations: Operation[]
  session: Session | null
  isOpen: boolean
}

/** Areas are closed until one is opened, or something is searched for. */
function OperationGroups({ operations, session, isOpen }: OperationGroupsProps) {
  if (operations.length === 0) {
    return (
      <EmptyState title="No operation has these words">
        Try fewer words, or a part of a path such as /keys.
      </EmptyState>
    )
  }
  return (
    <Stack gap="sm">
      {groupByTag(operations).map(([tag, members]) => (
        <details key={tag} open={isOpen}>
          <summary style={{ cursor: 'pointer' }}>
            <Title order={2} size="h4" display="inline">
              {tag}
            </Title>{' '}
            <Text span size="sm" c="dimmed">
              {members.length}
            </Text>
          </summary>
          <Stack component="ul" gap={6} mx={0} my="xs" p={0} style={{ listStyle: 'none' }}>
            {members.map((operation) => (
              <OperationRow key={operation.id} operation={operation} session={session} />
            ))}
          </Stack>
        </details>
      ))}
    </Stack>
  )
}

function OperationRow({ operation, session }: { operation: Operation; session: Session | null }) {
  const { id, method, path, summary } = operation
  return (
    <Group component="li" gap="xs" align="baseline">
      <Text ff="monospace" size="sm" fw={700} w={60}>
        {method}
      </Text>
      <Text ff="monospace" size="sm" style={{ overflowWrap: 'anywhere' }}>
        <TextLink to="/reference/$operation" params={{ operation: id }}>
          {path}
        </TextLink>
      </Text>
      <Text size="sm" c="dimmed" style={{ flex: '1 1 240px' }}>
        {summary}
      </Text>
      {findRefusal(session, operation) === 'permission' && (
        <Badge variant="outline" color="gray" tt="none">
          not for your role
        </Badge>
      )}
    </Group>
  )
}
