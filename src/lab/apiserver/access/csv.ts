/** Comma-separated values as Go's encoding/csv reads them: quoted fields, doubled quotes, CRLF, empty lines skipped. */

export interface CsvRecord {
  /** The line on which the record begins, counted from 1. */
  line: number;
  fields: string[];
}

export function parseCsv(text: string, path: string): CsvRecord[] {
  const source = text.replace(/\r\n/g, '\n');
  const records: CsvRecord[] = [];
  let at = 0;
  let line = 1;
  const fail = (reason: string) => new Error(`${path} line ${line}: ${reason}`);

  const quotedField = () => {
    let value = '';
    for (at += 1; ; at += 1) {
      if (at >= source.length) throw fail('a quoted field is not closed with "');
      if (source[at] === '"') {
        if (source[at + 1] !== '"') break;
        at += 1;
      }
      if (source[at] === '\n') line += 1;
      value += source[at];
    }
    at += 1;
    if (at < source.length && source[at] !== ',' && source[at] !== '\n')
      throw fail('text follows the closing " of a quoted field');
    return value;
  };

  const plainField = () => {
    const end = source.slice(at).search(/[,\n]/);
    const value = end === -1 ? source.slice(at) : source.slice(at, at + end);
    if (value.includes('"')) throw fail('a bare " is in a field without quotes');
    at += value.length;
    return value;
  };

  while (at < source.length) {
    if (source[at] === '\n') {
      at += 1;
      line += 1;
      continue;
    }
    const record: CsvRecord = { line, fields: [] };
    for (;;) {
      record.fields.push(source[at] === '"' ? quotedField() : plainField());
      if (source[at] !== ',') break;
      at += 1;
    }
    records.push(record);
  }
  return records;
}
