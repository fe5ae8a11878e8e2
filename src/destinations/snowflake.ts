import { buildJsonPost, defineDestination, secretField, textField } from './destination.ts'

/** Over its SQL API. */
export const snowflake = defineDestination({
  type: 'snowflake',
  fields: {
    account: textField
      .max(255)
      .regex(/^[a-zA-Z0-9_]+(?:[.-][a-zA-Z0-9_]+)*$/, 'must be an account identifier such as org-account'),
    token: secretField,
    database: textField.default('SNOWFLAKE_LEARNING_DB'),
    schema: textField.default('PUBLIC'),
    table: textField.default('SERVICE_TRACES'),
    warehouse: textField.default('COMPUTE_WH'),
  },
  secrets: ['token'],
  address: 'account',
  // Underscores in the account name are hyphens in its host name.
  target: ({ account }) =>
    `https://${account.replaceAll('_', '-').toLowerCase()}.snowflakecomputing.com/api/v2/statements`,
  probe: ({ token, database, schema, warehouse }, url) => ({
    request: buildJsonPost(
      url,
      { authorization: `Bearer ${token}`, accept: 'application/json' },
      { statement: 'SELECT 1', timeout: 10, database, schema, warehouse },
    ),
  }),
})
