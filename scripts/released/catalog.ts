import { SQL } from 'bun'

/** A table as the statements of a version need it. */
export interface CatalogTable {
  /** Type, nullability and default of each column, as SQL. */
  columns: Record<string, string>
  /** Columns of unique indexes, which `on conflict` names. */
  unique: string[]
  /** Other constraints, by their definition, with the columns that they are about. */
  constraints: Record<string, string[]>
}

export type Catalog = Record<string, CatalogTable>

/** Reads the tables of a database on PostgreSQL, except those of migrations. */
export async function readCatalog(url: string): Promise<Catalog> {
  const db = new SQL(url, { max: 1 })
  try {
    const tables: Catalog = {}
    for (const { name } of await db.unsafe(tableNames))
      tables[name] = { columns: {}, unique: [], constraints: {} }
    for (const { table, name, definition } of await db.unsafe(columns)) {
      const found = tables[table]
      if (found) found.columns[name] = definition
    }
    for (const { table, definition } of await db.unsafe(uniqueIndexes)) tables[table]?.unique.push(definition)
    for (const { table, definition, columns: names } of await db.unsafe(constraints)) {
      const found = tables[table]
      if (found) found.constraints[definition] = names
    }
    return tables
  } finally {
    await db.close({ timeout: 1 })
  }
}

const isListed = `relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
  and relname not like 'kysely%' and relname <> 'migration_steps'`

const tableNames = `select relname as name from pg_class where ${isListed} order by relname`

const columns = `select relname as table, attname as name,
    format_type(atttypid, atttypmod)
      || case when attnotnull then ' not null' else '' end
      || case when attidentity <> '' then ' identity' when attgenerated <> '' then ' generated'
        when atthasdef then ' default ' || pg_get_expr(adbin, adrelid) else '' end as definition
  from pg_attribute join pg_class on pg_class.oid = attrelid left join pg_attrdef on adrelid = attrelid and adnum = attnum
  where ${isListed} and attnum > 0 and not attisdropped order by relname, attname`

const uniqueIndexes = `select relname as table,
    regexp_replace(pg_get_indexdef(indexrelid), '^.* USING \\w+ ', '') as definition
  from pg_index join pg_class on pg_class.oid = indrelid where ${isListed} and indisunique order by 1, 2`

const constraints = `select relname as table, pg_get_constraintdef(pg_constraint.oid) as definition,
    array_to_json(array(select attname from pg_attribute where attrelid = conrelid and attnum = any(conkey)
      order by attname)) as columns
  from pg_constraint join pg_class on pg_class.oid = conrelid
  where ${isListed} and contype in ('c', 'f', 'x') order by 1, 2`
