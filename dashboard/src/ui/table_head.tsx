// The head of a table. A column is its name, or a cell of its own; false leaves it out.
import {isValidElement, type ComponentChild} from 'preact';

export function TableHead({columns}: {columns: readonly ComponentChild[]}) {
  return (
    <thead>
      <tr>
        {columns.map((column, i) =>
          column === false || isValidElement(column) ? (
            column
          ) : (
            <th key={i} scope="col">
              {column}
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}
