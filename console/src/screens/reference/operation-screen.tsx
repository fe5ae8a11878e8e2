import { Accordion, Anchor, Stack, Text } from '@mantine/core'
import { createLazyRoute, Link } from '@tanstack/react-router'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { RichText } from '../../components/rich-text.tsx'
import type { ApiDocument, Operation } from './document.ts'
import { ParameterList, SchemaView } from './schema-view.tsx'
import { TryIt } from './try-it.tsx'
import { useDocument } from './use-document.ts'

export const screen = createLazyRoute('/reference/$operation')({ component: OperationScreen })

function OperationScreen() {
  const { operation: id } = screen.useParams()
  const { query, operations } = useDocument()
  const operation = operations.find((candidate) => candidate.id === id)
  return (
    <Page
      title={operation ? `${operation.method} ${operation.path}` : 'API reference'}
      description={
        <>
          {operation && `${operation.summary} `}
          <Anchor component={Link} to="/reference" activeOptions={{ exact: true }} underline="always">
            All operations
          </Anchor>
        </>
      }
    >
      <QueryView query={query}>
        {(document) =>
          operation ? (
            <OperationView key={operation.id} document={document} operation={operation} />
          ) : (
            <EmptyState title="Operation not found">
              It may have been renamed. Search the list of operations.
            </EmptyState>
          )
        }
      </QueryView>
    </Page>
  )
}

interface OperationViewProps {
  document: ApiDocument
  operation: Operation
}

function OperationView({ document, operation }: OperationViewProps) {
  const { description, parameters = [], requestBody } = operation
  return (
    <Stack>
      {description && <RichText text={description} />}
      <TryIt document={document} operation={operation} />
      {parameters.length > 0 && (
        <Panel title="Parameters">
          <ParameterList document={document} parameters={parameters} />
        </Panel>
      )}
      {Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => (
        <Panel key={type} title="Body" description={type}>
          <SchemaView document={document} schema={schema ?? {}} />
        </Panel>
      ))}
      <Panel title="Responses">
        <ResponseList document={document} responses={operation.responses} />
      </Panel>
    </Stack>
  )
}

interface ResponseListProps {
  document: ApiDocument
  responses: Operation['responses']
}

function ResponseList({ document, responses }: ResponseListProps) {
  return (
    <Accordion variant="separated" order={3} multiple>
      {Object.entries(responses).map(([status, { description, content }]) => (
        <Accordion.Item key={status} value={status}>
          <Accordion.Control>
            {status} {description}
          </Accordion.Control>
          <Accordion.Panel>
            {Object.entries(content ?? {}).map(([type, { schema }]) => (
              <Stack key={type} gap="xs">
                <Text size="sm" c="dimmed">
                  {type}
                </Text>
                {schema && <SchemaView document={document} schema={schema} />}
              </Stack>
            ))}
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  )
}
